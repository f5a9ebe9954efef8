"""What Keras on JAX alone has; what is alike on every backend is in ../_keras/."""
