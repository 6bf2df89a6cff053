"""Recurrent layers: RNN, LSTM and GRU, a whole sequence in one op."""
