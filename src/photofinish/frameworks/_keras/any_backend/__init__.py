"""Keras 2 by layers and keras.backend alone, for backends other than TensorFlow: Theano and CNTK."""
