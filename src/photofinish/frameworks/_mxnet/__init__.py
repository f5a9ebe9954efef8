"""MXNet's parts that are not Gluon's."""
