"""What carries values between ranks: threads of one process, or MPI between processes."""
