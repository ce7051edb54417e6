"""Ties: the metric space decides, not the order of edges."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import torelli as tt
from strategies import (
    from_edges,
    metric_graphs,
    relabel,
    reverse_edges,
    shuffle_edges,
    subdivide,
    swap_sides_of_a_cut,
    twisted_pairs,
)
from torelli._numerics import ties
from torelli._numerics.core import canonical_core
from torelli._numerics.forest import fix_signs, gram_of_cycles, kruskal
from torelli.datasets.storage import shared_data

EXAMPLES = settings(max_examples=150)


def with_lengths(graph, lengths):
    return graph.replace(length=lengths)


def rounded(graph, choices, seed):
    """Return a graph with few different lengths."""
    rng = np.random.default_rng(seed)
    return with_lengths(graph, rng.integers(1, choices + 1, size=graph.n_edges).astype(float))


def drawn_anew(graph, rng):
    """Return the same graph with edges in another order, nodes renumbered and edges reversed."""
    return reverse_edges(shuffle_edges(relabel(graph, rng), rng), rng)


def same_matrix(one, two):
    """Return whether two graphs have one Torelli matrix, and both determined."""
    Q, R = tt.torelli_matrices([one, two])  # a NonGenericWarning fails the test
    return Q.shape == R.shape and np.allclose(Q, R, rtol=1e-9, atol=1e-9 * max(Q.max(initial=1.0), 1.0))


def from_networkx(graph):
    graph = nx.convert_node_labels_to_integers(graph)
    return from_edges(list(graph.edges()), np.ones(graph.number_of_edges()), graph.number_of_nodes())


def paley(q):
    squares = {x * x % q for x in range(1, q)}
    return nx.Graph([(a, b) for a in range(q) for b in range(a) if (a - b) % q in squares])


def cayley(n, *steps):
    return nx.Graph([(a, (a + step) % n) for a in range(n) for step in steps])


def cayley_of_permutations():
    """Return the permutohedron of order 4: permutations joined by swaps of neighbours."""
    start = (0, 1, 2, 3)
    graph, todo = nx.Graph(), [start]
    while todo:
        one = todo.pop()
        for i in range(3):
            two = (*one[:i], one[i + 1], one[i], *one[i + 2 :])
            if two not in graph:
                todo.append(two)
            graph.add_edge(one, two)
    return graph


def shrikhande():
    steps = ((1, 0), (0, 1), (1, 1))
    return nx.Graph(
        [((a, b), ((a + x) % 4, (b + y) % 4)) for a in range(4) for b in range(4) for x, y in steps]
    )


def moebius_kantor():
    return nx.LCF_graph(16, [5, -5], 8)


FAMILIES = {
    "Petersen": nx.petersen_graph,
    "Heawood": nx.heawood_graph,
    "Pappus": nx.pappus_graph,
    "Desargues": nx.desargues_graph,
    "dodecahedron": nx.dodecahedral_graph,
    "Tutte-Coxeter": lambda: nx.LCF_graph(30, [-13, -9, 7, -7, 9, 13], 5),
    "McGee cage": lambda: nx.LCF_graph(24, [12, 7, -7], 8),
    "Moebius-Kantor": moebius_kantor,
    "Frucht": nx.frucht_graph,
    "Paley 13": lambda: paley(13),
    "Paley 17": lambda: paley(17),
    "Paley 29": lambda: paley(29),
    "rook 4": lambda: nx.line_graph(nx.complete_bipartite_graph(4, 4)),
    "rook 6": lambda: nx.line_graph(nx.complete_bipartite_graph(6, 6)),
    "Shrikhande": shrikhande,
    "triangular 7": lambda: nx.line_graph(nx.complete_graph(7)),
    "hypercube 3": lambda: nx.hypercube_graph(3),
    "hypercube 5": lambda: nx.hypercube_graph(5),
    "torus 4 x 4": lambda: nx.grid_2d_graph(4, 4, periodic=True),
    "torus 5 x 7": lambda: nx.grid_2d_graph(5, 7, periodic=True),
    "grid 6 x 6": lambda: nx.grid_2d_graph(6, 6),
    "circulant": lambda: cayley(20, 1, 3, 7),
    "permutohedron": cayley_of_permutations,
    "clique": lambda: nx.complete_graph(12),
    "bipartite": lambda: nx.complete_bipartite_graph(5, 8),
    "multipartite": lambda: nx.complete_multipartite_graph(2, 3, 3, 4),
    "wheel": lambda: nx.wheel_graph(15),
    "cliques in a ring": lambda: nx.ring_of_cliques(4, 5),
    "windmill": lambda: nx.windmill_graph(5, 5),
}


@EXAMPLES
@given(metric_graphs(), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_tied_graphs_have_one_matrix_however_they_are_drawn(graph, choices, seed):
    """With few different lengths, the matrix does not change when edges are reordered, cut or reversed."""
    graph = rounded(graph, choices, seed)
    rng = np.random.default_rng(seed)
    assert same_matrix(graph, subdivide(drawn_anew(graph, rng), rng))


@EXAMPLES
@given(twisted_pairs(), st.integers(1, 2), st.integers(0, 2**32 - 1))
def test_tied_graphs_have_one_matrix_after_a_twist(pair, choices, seed):
    """Swapping the sides of a 2-vertex cut does not change the matrix, ties included."""
    one, two, is_twist = pair
    assume(is_twist)
    lengths = rounded(one, choices, seed).length
    rng = np.random.default_rng(seed)
    assert same_matrix(with_lengths(one, lengths), drawn_anew(with_lengths(two, lengths), rng))


@pytest.mark.parametrize("family", FAMILIES)
def test_symmetric_families_have_one_matrix(family):
    """Strongly regular, vertex-transitive and other symmetric graphs of unit length are determined."""
    graph = from_networkx(FAMILIES[family]())
    rng = np.random.default_rng(0)
    for _ in range(4):
        assert same_matrix(graph, drawn_anew(graph, rng))
        assert same_matrix(graph, drawn_anew(swap_sides_of_a_cut(graph, rng), rng))


@pytest.mark.parametrize("family", ["Petersen", "grid 6 x 6", "clique", "Frucht"])
def test_copies_of_one_graph_have_one_matrix(family):
    """Disjoint copies, whose edges are mixed with each other, are determined."""
    graph = FAMILIES[family]()
    copies = from_networkx(nx.disjoint_union_all([graph] * 4))
    rng = np.random.default_rng(1)
    for _ in range(4):
        assert same_matrix(copies, drawn_anew(copies, rng))


def test_large_symmetric_blocks_are_not_claimed_to_be_determined():
    """A torus of more nodes than dense currents are computed for has one matrix, but that is not proven."""
    torus = from_networkx(nx.grid_2d_graph(27, 28, periodic=True))
    assert torus.n_nodes > ties.DENSE_NODES
    with pytest.warns(tt.NonGenericWarning, match="2 of 2 graphs"):
        assert same_matrix(torus, drawn_anew(torus, np.random.default_rng(2)))


def test_large_blocks_with_mirrors_have_one_matrix():
    """Pairs of like streets in a network of many nodes are ordered by their currents, and proven alike."""
    rng = np.random.default_rng(8)
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(30, 30))
    edges, lengths = list(grid.edges()), rng.uniform(1.0, 2.0, grid.number_of_edges()).tolist()
    for corner in (0, 29, 870):  # a rhombus with its short diagonal, hung on two neighbours
        one, two, a, b = corner, next(grid.neighbors(corner)), 2000 + corner, 3000 + corner
        edges += [(one, a), (one, b), (a, b), (a, two), (b, two)]
        lengths += [1.0, 1.0, 0.5, 1.25, 1.25]
    graph = from_networkx(nx.Graph(edges))
    order = dict(zip(map(frozenset, edges), lengths, strict=True))
    names = list(nx.Graph(edges))
    ends = zip(graph.tail.tolist(), graph.head.tolist(), strict=True)
    graph = with_lengths(graph, np.array([order[frozenset((names[u], names[v]))] for u, v in ends]))
    assert not graph.is_generic
    for _ in range(3):
        assert same_matrix(graph, drawn_anew(graph, rng))


@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 3, 1e-5])
def test_greedy_rows_do_not_depend_on_rounding(scale):
    """Rows of a symmetric graph that gain the same are the same in every drawing and subdivision."""
    rng = np.random.default_rng(9)
    for family in (nx.petersen_graph(), nx.hypercube_graph(4), nx.grid_2d_graph(5, 5)):
        graph = from_networkx(family)
        graph = with_lengths(graph, graph.length * scale)
        for max_genus in (3, 5):
            options = {"max_genus": max_genus, "truncation": "greedy"}
            Q = tt.torelli_matrix(graph, **options)
            for _ in range(4):
                other = tt.torelli_matrix(drawn_anew(subdivide(graph, rng), rng), **options)
                assert np.allclose(other, Q, rtol=1e-9, atol=1e-9 * scale)


def test_the_point_that_a_loop_is_at_means_nothing():
    """Loops of one length at one point or at two points of a C1-set give the same matrix."""
    edges = [(1, 3), (5, 4), (2, 1), (5, 3), (4, 2), (5, 3), (0, 1), (0, 3), (3, 4), (2, 4), (4, 5), (3, 1)]
    edges += [(5, 4), (3, 5)]
    apart, together = ([*edges, (3, 3), (node, node)] for node in (0, 3))
    graphs = [from_edges(loops, np.ones(len(loops)), 6) for loops in (apart, together)]
    rng = np.random.default_rng(5)
    for _ in range(10):
        assert same_matrix(graphs[0], drawn_anew(graphs[0], rng))
        assert same_matrix(graphs[0], drawn_anew(graphs[1], rng))


def test_round_lengths_do_not_meet_the_tolerance():
    """Masses that differ by a billionth, as those of lengths of ratio a billion may, have one order."""
    edges = [(0, 1), (2, 3), (1, 0), (1, 2), (4, 1), (1, 2), (2, 1), (4, 2), (3, 4), (3, 0)]
    lengths = [1.0, 1e9, 1e9, 1e9, 1e9, 1e-9, 1.0, 1e-9, 1.0, 1.0]
    graph = from_edges(edges, lengths, 5)
    rng = np.random.default_rng(6)
    Q = tt.torelli_matrix(graph)
    for _ in range(20):
        assert np.allclose(tt.torelli_matrix(drawn_anew(graph, rng)), Q, rtol=1e-9, atol=1e-12)


def test_many_interchangeable_nodes_are_determined():
    """A complete bipartite graph is determined although hundreds of its edges are told apart in turn."""
    graph = from_networkx(nx.complete_bipartite_graph(3, 310))
    assert same_matrix(graph, drawn_anew(graph, np.random.default_rng(8)))


def twisted_torus(a, b):
    """Return the grid of Gaussian integers modulo a + b i."""
    norm = a * a + b * b

    def reduce(x, y):
        u, v = (a * x + b * y) // norm, (a * y - b * x) // norm
        return x - u * a + v * b, y - u * b - v * a

    nodes = {(0, 0)}
    todo = [(0, 0)]
    while todo:
        x, y = todo.pop()
        for node in (reduce(x + 1, y), reduce(x, y + 1)):
            if node not in nodes:
                nodes.add(node)
                todo.append(node)
    steps = ((1, 0), (0, 1))
    return nx.Graph([((x, y), reduce(x + s, y + t)) for x, y in nodes for s, t in steps])


def test_large_blocks_of_equal_masses_have_one_matrix():
    """Two large tori that are not isomorphic, yet whose edges all have one mass, are told apart."""
    one, two = twisted_torus(25, 10), twisted_torus(26, 7)
    assert len(one) == len(two) == 725 > ties.DENSE_NODES
    graph = from_networkx(nx.disjoint_union(one, two))
    rng = np.random.default_rng(4)
    with pytest.warns(tt.NonGenericWarning):  # nothing proves it
        assert all(same_matrix(graph, drawn_anew(graph, rng)) for _ in range(4))


def test_lengths_of_all_magnitudes_have_one_matrix():
    """Rounding of currents, which is large where lengths differ by many magnitudes, decides nothing."""
    rng = np.random.default_rng(3)
    for _ in range(30):
        graph = from_networkx(nx.random_regular_graph(4, 12, seed=int(rng.integers(2**31))))
        graph = with_lengths(graph, 10.0 ** rng.choice([-12.0, 0.0, 9.0], size=graph.n_edges))
        assert same_matrix(graph, drawn_anew(graph, rng))


def test_the_order_is_by_totals_then_masses():
    """The spanning tree is the minimum one by total and then by canonical mass, where masses differ."""
    rng = np.random.default_rng(7)
    n_compared = 0
    for _ in range(20):
        plain = nx.random_regular_graph(5, 14, seed=int(rng.integers(2**31)))
        ends = list(plain.edges())
        laplacian = np.linalg.pinv(nx.laplacian_matrix(plain, nodelist=range(14)).toarray().astype(float))
        mass = [1.0 - (laplacian[a, a] + laplacian[b, b] - 2.0 * laplacian[a, b]) for a, b in ends]
        if np.diff(np.sort(mass)).min() < 1e-6:
            continue
        n_compared += 1
        nx.set_edge_attributes(plain, dict(zip(ends, mass, strict=True)), "mass")
        expected = {
            tuple(sorted(edge)) for edge in nx.minimum_spanning_edges(plain, weight="mass", data=False)
        }
        model = tt.canonical_model(from_edges(ends, np.ones(len(ends))))
        assert {tuple(sorted(ends[model.c1_sets[c][0]])) for c in model.tree} == expected
    assert n_compared > 5


def test_generic_and_determined_are_two_things():
    """Ties make a graph not generic, and its matrix is determined all the same."""
    theta = tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 1.0, 1.0])
    assert not theta.is_generic
    assert theta.is_determined
    summary = theta.summary()
    assert (summary.n_ties, summary.is_determined) == (2, True)
    assert tt.canonical_model(theta).is_determined
    assert tt.torelli_matrix(theta).tolist() == [[2.0, 1.0], [1.0, 2.0]]


def test_a_matrix_that_is_not_determined_warns_once_and_the_remedy_helps(monkeypatch):
    """Where the search for symmetries is given up, one warning counts the graphs; other lengths mend it."""
    monkeypatch.setattr(ties, "BUDGET", 100)
    petersen, theta = from_networkx(nx.petersen_graph()), tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0])
    with pytest.warns(tt.NonGenericWarning) as caught:
        tt.torelli_matrices([petersen, theta, petersen])
    assert len(caught) == 1
    text = str(caught[0].message)
    assert "2 of 3 graphs" in text
    assert "lengths with more digits" in text
    assert caught[0].filename == __file__
    assert not petersen.is_determined
    rng = np.random.default_rng(4)
    measured = with_lengths(petersen, petersen.length + rng.uniform(0.0, 1e-3, petersen.n_edges))
    assert measured.is_determined
    assert same_matrix(measured, drawn_anew(measured, rng))


def test_the_literal_model_warns_of_ties_and_names_the_remedy():
    """The paper's algorithm breaks ties by edge order; the canonical model is the way out."""
    tied = tt.MetricGraph([0, 0, 0], [1, 1, 1], [1.0, 1.0, 1.0])
    with pytest.warns(tt.NonGenericWarning, match=r"1 of 2 graphs.*model='canonical'"):
        tt.torelli_matrices([tied, tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0])], "literal")


def test_many_threads_give_the_same_matrices():
    """Ties are broken alike for every number of threads."""
    graphs = [from_networkx(make()) for make in FAMILIES.values()]
    for Q, R in zip(
        tt.torelli_matrices(graphs, n_jobs=1), tt.torelli_matrices(graphs, n_jobs=4), strict=True
    ):
        assert np.array_equal(Q, R)


@pytest.mark.parametrize("name", ["MUTAG", "ENZYMES", "PROTEINS", "IMDB-BINARY", "COX2_MD", "MSRC_9"])
@pytest.mark.usefixtures("tu")
def test_benchmark_sets_with_unit_lengths_have_one_matrix(name):
    """Graphs of the TU sets do not change when they are reordered."""
    graphs = [graph for graph in tt.datasets.load_tu(name, lengths="unit").graphs if graph.genus <= 100][:60]
    rng = np.random.default_rng(5)
    for graph in graphs:
        assert same_matrix(graph, drawn_anew(graph, rng))


@pytest.mark.parametrize("digits", [3, 1, 0])
def test_a_city_rounded_has_one_matrix(digits):
    """Streets rounded to millimetres, decimetres and metres do not change when they are reordered."""
    try:
        path = shared_data("urn", "graphs", "Al_Qadarif_r3000.graphml.gz")
    except tt.DataNotFoundError:
        pytest.skip("the shared data has no cities here: set TORELLI_DATA")
    [city] = tt.read(path)
    city = with_lengths(city, np.maximum(np.round(city.length, digits), 10.0**-digits))
    assert city.summary().n_ties > 100
    again = drawn_anew(city, np.random.default_rng(6))
    Q, R = tt.torelli_matrices([city, again], max_genus=400)
    assert np.allclose(Q, R, rtol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_ties_that_cannot_change_the_matrix_need_no_masses(seed):
    """Orders that differ only among ties that do not count give one matrix, bit for bit."""
    rng = np.random.default_rng(seed)
    n_nodes, n_edges = 7, 14
    tail, head = rng.integers(n_nodes, size=(2, n_edges))
    core = canonical_core(tail, head, rng.integers(1, 30, n_edges).astype(float), n_nodes)
    level = ties._levels(core.total)
    matters = ties._order_matters(core.tail, core.head, core.n_nodes, level)
    matrices = set()
    for _ in range(20):
        order = np.lexsort((np.where(matters, 0.0, rng.random(len(level))), level))
        in_tree, chords = np.empty(len(order), bool), np.empty(len(order), np.int64)
        genus = kruskal(core.tail, core.head, core.n_nodes, order, in_tree, chords)
        Q = np.empty(genus**2)
        gram_of_cycles(core.tail, core.head, core.total, core.n_nodes, in_tree, chords[:genus], Q)
        fix_signs(Q, genus)
        matrices.add(Q.tobytes())
    assert len(matrices) == 1


def test_a_tie_between_two_chords_or_in_the_choice_of_the_forest_counts():
    """Two tied chords, or tied C1-sets of which any two span, are told apart; tied tree edges are not."""
    triangle = np.array([0, 0, 1]), np.array([1, 2, 2])
    theta = np.array([0, 0, 0]), np.array([1, 1, 1])
    assert ties._order_matters(*triangle, 3, np.array([0, 0, 0])).all()
    assert not ties._order_matters(*triangle, 3, np.array([0, 0, 1])).any()
    assert ties._order_matters(*theta, 2, np.array([0, 1, 1])).tolist() == [False, True, True]
