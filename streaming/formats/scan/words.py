"""Bytes of an array, one or eight at a time, without the checks that indexing makes."""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from streaming.compiled import jitable

ONES = np.uint64(0x0101010101010101)
HIGH = np.uint64(0x8080808080808080)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
NONE = np.uint64(0)


def _pointer(context, builder, signature, arguments, first=0):
    """Where the bytes are that the argument after `first` is the position of."""
    array = context.make_array(signature.args[first])(context, builder, arguments[first])
    return builder.gep(array.data, [arguments[first + 1]])


@intrinsic
def byte_at(typing_context, data, position):
    """One byte, as a signed integer so that it can be compared with literals."""

    def generate(context, builder, signature, arguments):
        return builder.zext(builder.load(_pointer(context, builder, signature, arguments)), ir.IntType(64))

    return types.int64(data, types.int64), generate


@intrinsic
def _load_word(typing_context, data, position):
    def generate(context, builder, signature, arguments):
        pointer = _pointer(context, builder, signature, arguments)
        word = builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(data, types.int64), generate


@intrinsic
def trailing_zeros(typing_context, word):
    """How many of the lowest bits are zero; of zero, 64."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def leading_zeros(typing_context, word):
    def generate(context, builder, signature, arguments):
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate


@intrinsic
def high_product(typing_context, one, other):
    """The upper 64 bits of a product of 128."""

    def generate(context, builder, signature, arguments):
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def as_float(typing_context, bits):
    """The float that has these bits."""

    def generate(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate


@jitable
def word_at(data, position):
    """Eight bytes, the first of them lowest; beyond the end of the array there are zeros."""
    if position + 8 <= len(data):
        return _load_word(data, position)
    word = NONE
    for place in range(max(0, len(data) - position)):
        word |= np.uint64(byte_at(data, position + place)) << np.uint64(8 * place)
    return word


@jitable
def first_bytes(word, count):
    """The word with all but its first `count` bytes (0 to 8) set to zero."""
    if count >= 8:
        return word
    return word & ((np.uint64(1) << np.uint64(8 * count)) - np.uint64(1))


@jitable
def same(one, at, other, there, length):
    """Whether `length` bytes from two places are equal."""
    while length > 8:
        if word_at(one, at) != word_at(other, there):
            return False
        at += 8
        there += 8
        length -= 8
    return first_bytes(word_at(one, at) ^ word_at(other, there), length) == NONE


@intrinsic
def copy_bytes(typing_context, target, at, source, start, length):
    """Copy `length` bytes from one array to another; nobody checks that both have them."""

    def generate(context, builder, signature, arguments):
        into = _pointer(context, builder, signature, arguments)
        out_of = _pointer(context, builder, signature, arguments, first=2)
        cgutils.raw_memcpy(builder, into, out_of, arguments[4], 1)
        return context.get_dummy_value()

    return types.void(target, types.int64, source, types.int64, types.int64), generate
