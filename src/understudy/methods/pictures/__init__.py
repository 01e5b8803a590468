"""Pictures of a mean embedding: what `mean-embedding` asks and draws when a table holds one image column and perhaps a class.

Read in this order:

    method.py      which noisy sums of pixels and frequencies are asked for, and the mixture made of them
    generator.py   drawing pictures from the released mixture
    training.py    a convolutional network instead, trained to the same released moments
"""
