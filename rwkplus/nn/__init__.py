"""PyTorch shell: parameters and a call into :mod:`rwkplus.functional`."""
