"""What a mode of TensorFlow decides; how a graph is written in Keras is in ../_keras/."""
