"""Optimizers as Keras has them, and what it lacks."""

from photofinish.frameworks import Unsupported
from photofinish.frameworks._keras.use import call
from photofinish.optimizers import SGD, Adam, Optimizer


def written(optimizer: Optimizer) -> str:
    if isinstance(optimizer, SGD):
        return call("keras.optimizers.SGD", learning_rate=optimizer.learning_rate, momentum=float(optimizer.momentum))
    if isinstance(optimizer, Adam):
        return call("Adam", learning_rate=optimizer.learning_rate, beta_1=optimizer.beta1, beta_2=optimizer.beta2,
                    epsilon=optimizer.epsilon)
    raise Unsupported("no Keras optimizer for {}".format(type(optimizer).__name__))


HELPERS = {
    "Adam": '''
class Adam(keras.optimizers.Adam):
    """Epsilon is added after the bias correction (arXiv 1412.6980, algorithm 1); Keras adds it before."""

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        mean, square = self._momentums[index], self._velocities[index]
        gradient = tf.convert_to_tensor(gradient)
        step = tf.cast(self.iterations + 1, tf.float64)  # in float32, 1 - 0.999 is off by 1e-5
        correction = tf.sqrt(1 - tf.constant(self.beta_2, tf.float64) ** step)
        rate = tf.cast(learning_rate, tf.float64) * correction / (1 - tf.constant(self.beta_1, tf.float64) ** step)
        mean.assign_add((gradient - mean) * (1 - self.beta_1))
        square.assign_add((gradient * gradient - square) * (1 - self.beta_2))
        epsilon = tf.cast(self.epsilon * correction, variable.dtype)
        variable.assign_sub(tf.cast(rate, variable.dtype) * mean / (tf.sqrt(square) + epsilon))
''',
}
