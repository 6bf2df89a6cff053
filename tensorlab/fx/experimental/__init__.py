"""What PyTorch keeps under this name: passes over whole models."""
