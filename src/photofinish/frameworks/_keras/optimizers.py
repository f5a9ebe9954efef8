"""Optimizers as Keras has them, and what it lacks."""

from photofinish.frameworks import Unsupported
from photofinish.frameworks._common.text import call
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

_CORRECTIONS = '''\
        step = ops.cast(self.iterations + 1, {dtype})
        left_1, left_2 = (  # 1 - beta ** step, which float32 would round to 1e-5
            -ops.expm1(step * float(np.log(beta))) for beta in (self.beta_1, self.beta_2))
        rate, epsilon = learning_rate * ops.sqrt(left_2) / left_1, self.epsilon * ops.sqrt(left_2)
'''
ON_JAX = {
    "Adam": '''
class Adam(keras.optimizers.Adam):
    """Epsilon is added after the bias correction (arXiv 1412.6980, algorithm 1); Keras adds it before."""

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        mean, square = self._momentums[index], self._velocities[index]
''' + _CORRECTIONS.format(dtype="variable.dtype") + '''\
        mean.assign_add(ops.subtract(gradient, mean) * (1 - self.beta_1))
        square.assign_add(ops.subtract(ops.square(gradient), square) * (1 - self.beta_2))
        variable.assign_sub(rate * mean / (ops.sqrt(square) + epsilon))
''',
}
ON_TORCH = {  # where Keras updates all variables at once, and so loops over none
    "Adam": '''
class Adam(type(keras.optimizers.Adam())):
    """Epsilon is added after the bias correction (arXiv 1412.6980, algorithm 1); Keras adds it before. All variables
    are updated at once, as by Keras' own Adam where it runs on PyTorch."""

    def _parallel_update_step(self, gradients, variables, learning_rate):
        indices = [self._get_variable_index(variable) for variable in variables]
        means, squares = ([kept[i].value for i in indices] for kept in (self._momentums, self._velocities))
''' + _CORRECTIONS.format(dtype="variables[0].dtype") + '''\
        torch._foreach_mul_(means, self.beta_1)
        torch._foreach_add_(means, gradients, alpha=1 - self.beta_1)
        torch._foreach_mul_(squares, self.beta_2)
        torch._foreach_addcmul_(squares, gradients, gradients, value=1 - self.beta_2)
        steps = torch._foreach_mul(means, rate)
        torch._foreach_div_(steps, torch._foreach_add(torch._foreach_sqrt(squares), epsilon))
        torch._foreach_sub_([variable.value for variable in variables], steps)
''',
}
