"""Pure: arrays in, certificate and audit out."""
