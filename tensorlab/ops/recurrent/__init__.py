"""Recurrent layers: RNN, LSTM and GRU, a whole sequence in one op."""

from tensorlab._capability import prefer_builds

prefer_builds(__path__)
