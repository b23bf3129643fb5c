#!/usr/bin/env python3
# Copyright (c) 2026      The ompi-locality authors.  All rights reserved.
# SPDX-License-Identifier: BSD-3-Clause
"""Random walks over a graph that is spread over the processes, with mpi4py.

    mpirun -np 2 python3 walk.py [--log2-vertices=N] [--walks=N] [--steps=N] [--seed=N] [--check]

Each vertex has 16 neighbours. Some vertices are neighbours of many: every walk comes by there, as in the graphs of social
networks. The lists of neighbours are rows of a window of MPI.Win.Allocate, split by blocks over the processes; a step of a walk
fetches one row and goes on to one of its entries, in one epoch of MPI.Win.Lock_all. --walks=N and --steps=N: of each process.
--check does all walks once more on rank 0, without a window.

Plain MPI-3; knows nothing of any cache. What is printed: vertices, steps (of all processes), processes, gets, checksum over the
vertices that were visited, and of the slowest process walk_seconds.
"""
import argparse

import numpy as np
from mpi4py import MPI

DEGREE = 16
MASK = (1 << 64) - 1


def scatter(number):
    """A random 64-bit number for each number (splitmix64)."""
    number = (number + 0x9E3779B97F4A7C15) & MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & MASK
    return number ^ (number >> 31)


class Graph:
    """Neighbours are a function of vertex and seed: every process, and the check, can make any part."""

    def __init__(self, log2_vertices, seed):
        self.vertices = 1 << log2_vertices
        self.seed = seed

    def rows(self, first, count):
        edges = [self.neighbour(vertex, i) for vertex in range(first, first + count) for i in range(DEGREE)]
        return np.array(edges, dtype=np.int64).reshape(count, DEGREE)

    def neighbour(self, vertex, i):
        dice = (scatter(scatter(self.seed) ^ (vertex * DEGREE + i)) >> 11) / (1 << 53)
        rank = int(self.vertices * dice**4)  # the first ones are chosen most
        return rank * 0x9E3779B1 % self.vertices  # but they are anywhere


def walk(fetch, graph, number, steps):
    """The checksum of one walk; fetch gives the row of a vertex."""
    vertex = scatter(number) % graph.vertices
    checksum = 0
    for step in range(steps):
        vertex = int(fetch(vertex)[scatter(number * steps + step) % DEGREE])
        checksum = (checksum + scatter(vertex ^ (step << 40))) & MASK
    return checksum


def main():
    comm = MPI.COMM_WORLD
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("log2-vertices", 12), ("walks", 20), ("steps", 500), ("seed", 1)):
        parser.add_argument("--" + name, type=int, default=value, metavar="N")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    graph = Graph(options.log2_vertices, options.seed)
    block = -(-graph.vertices // comm.size)
    first = min(comm.rank * block, graph.vertices)
    count = min(block, graph.vertices - first)

    window = MPI.Win.Allocate(count * DEGREE * 8, DEGREE * 8, comm=comm)
    mine = np.frombuffer(window.tomemory(), dtype=np.int64).reshape(count, DEGREE)
    window.Lock_all(MPI.MODE_NOCHECK)
    mine[:] = graph.rows(first, count)
    window.Sync()
    comm.Barrier()

    row = np.empty(DEGREE, dtype=np.int64)
    gets = 0

    def fetch(vertex):
        nonlocal gets
        if first <= vertex < first + count:
            return mine[vertex - first]
        window.Get(row, vertex // block, target=vertex % block)
        window.Flush(vertex // block)
        gets += 1
        return row

    seconds = MPI.Wtime()
    numbers = range(comm.rank * options.walks, (comm.rank + 1) * options.walks)
    checksum = sum(walk(fetch, graph, number, options.steps) for number in numbers) & MASK
    seconds = MPI.Wtime() - seconds
    window.Unlock_all()
    del mine
    window.Free()

    checksum = sum(comm.allgather(checksum)) & MASK
    gets = comm.allreduce(gets)
    seconds = comm.allreduce(seconds, op=MPI.MAX)
    right = True
    if comm.rank == 0:
        print("vertices", graph.vertices)
        print("steps", options.walks * options.steps * comm.size)
        print("processes", comm.size)
        print("gets", gets)
        print("checksum", checksum)
        print("walk_seconds %.6f" % seconds)
        if options.check:
            alone = (walk(lambda vertex: graph.rows(vertex, 1)[0], graph, number, options.steps)
                     for number in range(options.walks * comm.size))
            right = sum(alone) & MASK == checksum
            print("check", "ok" if right else "WRONG", flush=True)
    raise SystemExit(0 if comm.bcast(right) else 1)


main()
