"""Cases of tensor operations: values, and gradients where the operation has one."""

import torch

from group import Group


def arithmetic(group):
    for name, function in (("add", torch.add), ("sub", torch.sub), ("mul", torch.mul),
                           ("div", torch.div)):
        for suffix, left, right in (("", (3, 4), (3, 4)), ("_broadcast", (2, 1, 4), (3, 1)),
                                    ("_scalar", (), (2, 3))):
            case = group.case(f"{name}{suffix}", name)
            a = case.input("a", case.normal(*left))
            b = case.input("b", case.uniform(0.5, 2.0, *right))
            case.finish(function(a, b))


def elementwise(group):
    for name, low in (("exp", -2.0), ("log", 0.1), ("sqrt", 0.1), ("rsqrt", 0.1), ("cos", -4.0),
                      ("sin", -4.0), ("sigmoid", -6.0)):
        case = group.case(name, name)
        case.finish(getattr(torch, name)(case.input("x", case.uniform(low, 4.0, 3, 5))))
    case = group.case("sigmoid_extremes", "sigmoid")
    extremes = torch.tensor([-1000.0, -90.0, -30.0, 0.0, 30.0, 90.0, 1000.0])
    case.finish(torch.sigmoid(case.input("x", extremes)))

    positive = (("half", 0.5), ("negative", -1.5), ("fraction", 2.7))
    for suffix, exponent in positive:
        case = group.case(f"pow_{suffix}", "pow", exponent=exponent)
        case.finish(case.input("x", case.uniform(0.2, 3.0, 3, 4)) ** exponent)
    for suffix, exponent in (("zero", 0.0), ("one", 1.0), ("two", 2.0), ("three", 3.0)):
        case = group.case(f"pow_{suffix}", "pow", exponent=exponent)
        values = torch.cat([case.normal(6), torch.zeros(1)])   # both signs, and zero
        case.finish(case.input("x", values) ** exponent)


def reductions(group):
    forms = (("all", None, False), ("dim0", [0], False), ("last_keepdim", [-1], True),
             ("two_dims", [0, 2], False))
    for name in ("sum", "mean", "var"):
        for suffix, dims, keepdim in forms:
            options = {"dims": dims, "keepdim": keepdim}
            variants = {"_unbiased": True, "_biased": False} if name == "var" else {"": None}
            for variant, unbiased in variants.items():
                extra = {} if unbiased is None else {"unbiased": unbiased}
                case = group.case(f"{name}{variant}_{suffix}", name, **options, **extra)
                x = case.input("x", 1.0 + case.normal(2, 3, 4))
                case.finish(getattr(torch, name)(x, dims, keepdim=keepdim, **extra))

    for suffix, dim, keepdim in (("dim0", 0, False), ("dim1_keepdim", 1, True),
                                 ("last", -1, False)):
        case = group.case(f"max_{suffix}", "max", dim=dim, keepdim=keepdim)
        values, indices = torch.max(case.input("x", case.distinct(2, 3, 4)), dim, keepdim)
        case.finish(values, indices=indices)
        case = group.case(f"argmax_{suffix}", "argmax", dim=dim, keepdim=keepdim)
        case.value(torch.argmax(case.constant("x", case.distinct(2, 3, 4)), dim, keepdim))

    # Ties have no single gradient, so only values; the first of equal maxima wins.
    ties = torch.tensor([[2.0, 5.0, 5.0, 1.0], [3.0, 3.0, 3.0, 3.0], [-1.0, -2.0, -3.0, -1.0]])
    case = group.case("max_ties", "max", dim=-1, keepdim=False)
    values, indices = torch.max(case.constant("x", ties), -1)
    assert indices.tolist() == [1, 0, 0]
    case.value(values, indices=indices)
    case = group.case("argmax_ties", "argmax", dim=-1, keepdim=False)
    indices = torch.argmax(case.constant("x", ties), -1)
    assert indices.tolist() == [1, 0, 0]
    case.value(indices)


def ordering(group):
    for dim in (0, 1, -1):
        case = group.case(f"cumsum_dim{dim}".replace("-1", "_last"), "cumsum", dim=dim)
        case.finish(torch.cumsum(case.input("x", case.normal(2, 3, 4)), dim))
    for suffix, dim, descending in (("last", -1, False), ("last_descending", -1, True),
                                    ("dim0", 0, False), ("dim1_descending", 1, True)):
        case = group.case(f"sort_{suffix}", "sort", dim=dim, descending=descending)
        x = case.input("x", case.distinct(2, 3, 4))
        values, indices = torch.sort(x, dim=dim, descending=descending)
        case.finish(values, indices=indices)
    # Equal values keep their order: the stable sort.
    ties = torch.tensor([[1.0, 0.0, 1.0, 0.0, 1.0], [2.0, 2.0, 2.0, 2.0, 2.0]])
    for suffix, descending in (("ties", False), ("ties_descending", True)):
        case = group.case(f"sort_{suffix}", "sort", dim=-1, descending=descending)
        values, indices = torch.sort(case.constant("x", ties), stable=True, descending=descending)
        case.value(values, indices=indices)
    for suffix, k, dim in (("1", 1, -1), ("3", 3, -1), ("all", 4, -1), ("dim0", 2, 0)):
        case = group.case(f"topk_{suffix}", "topk", k=k, dim=dim)
        values, indices = torch.topk(case.input("x", case.distinct(2, 3, 4)), k, dim)
        case.finish(values, indices=indices)


def indexing(group):
    case = group.case("gather_dim0", "gather", dim=0)
    index = case.constant("index", case.integers(4, 6, 3))
    case.finish(torch.gather(case.input("x", case.normal(4, 3)), 0, index))
    case = group.case("gather_last", "gather", dim=-1)
    index = case.constant("index", case.integers(4, 2, 3, 3))
    case.finish(torch.gather(case.input("x", case.normal(2, 3, 4)), -1, index))

    # scatter: x[index] = src along dim, each place written once; scatter_add sums repeats.
    once = torch.tensor([[4, 0], [2, 3], [1, 0]])
    case = group.case("scatter", "scatter", dim=1)
    x, index = case.input("x", case.normal(3, 5)), case.constant("index", once)
    case.finish(torch.scatter(x, 1, index, case.input("src", case.normal(3, 2))))
    case = group.case("scatter_add_last", "scatter_add", dim=-1)
    x, index = case.input("x", case.normal(3, 5)), case.constant("index", case.integers(5, 3, 6))
    case.finish(torch.scatter_add(x, -1, index, case.input("src", case.normal(3, 6))))
    case = group.case("scatter_add_dim0", "scatter_add", dim=0)
    x, index = case.input("x", case.normal(4, 3)), case.constant("index", case.integers(4, 5, 3))
    case.finish(torch.scatter_add(x, 0, index, case.input("src", case.normal(5, 3))))

    for dim, ids in ((0, [2, 0, 2]), (1, [2, 2, 1, 0]), (-1, [3, 1])):
        case = group.case(f"index_select_dim{dim}".replace("-1", "_last"), "index_select", dim=dim)
        index = case.constant("index", torch.tensor(ids))
        case.finish(torch.index_select(case.input("x", case.normal(3, 3, 4)), dim, index))


def flags(*shape):
    """True and false in a pattern that no row or column repeats."""
    return (torch.arange(torch.Size(shape).numel()) * 5 % 7 < 3).reshape(shape)


def selection(group):
    for suffix, condition, left, right in (
            ("", (3, 4), (3, 4), (3, 4)), ("_broadcast", (4,), (2, 1, 4), (3, 1))):
        case = group.case(f"where{suffix}", "where")
        condition = case.constant("condition", flags(*condition))
        a, b = case.input("a", case.normal(*left)), case.input("b", case.normal(*right))
        case.finish(torch.where(condition, a, b))
    for suffix, mask, value in (("", (3, 4), -1.5), ("_broadcast", (4,), -1e9)):
        case = group.case(f"masked_fill{suffix}", "masked_fill", value=value)
        mask = case.constant("mask", flags(*mask))
        case.finish(case.input("x", case.normal(2, 3, 4)).masked_fill(mask, value))
    for diagonal in (-1, 0, 2):
        case = group.case(f"tril_{diagonal}".replace("-", "minus_"), "tril", diagonal=diagonal)
        case.finish(torch.tril(case.input("x", case.normal(2, 3, 4)), diagonal))


def joining(group):
    for dim, shapes in ((0, ((2, 3), (1, 3), (4, 3))), (-1, ((2, 3), (2, 1), (2, 4)))):
        case = group.case(f"cat_dim{dim}".replace("-1", "_last"), "cat", dim=dim)
        parts = [case.input(name, case.normal(*s)) for name, s in zip("abc", shapes)]
        case.finish(torch.cat(parts, dim))
    for dim in (0, 1, -1):
        case = group.case(f"stack_dim{dim}".replace("-1", "_last"), "stack", dim=dim)
        parts = [case.input(name, case.normal(2, 3)) for name in "abc"]
        case.finish(torch.stack(parts, dim))
    for suffix, dim, start, stop, step in (("even", -1, 0, 5, 2), ("odd", -1, 1, 5, 2),
                                           ("middle", 1, 1, 3, 1), ("third", 0, 0, 4, 3)):
        case = group.case(f"slice_{suffix}", "slice", dim=dim, start=start, stop=stop, step=step)
        x = case.input("x", case.normal(4, 3, 5))
        places = torch.arange(start, stop, step)
        case.finish(torch.index_select(x, dim, places))


def products(group):
    for suffix, left, right in (
            ("", (3, 4), (4, 2)), ("_batch", (2, 3, 2), (2, 2, 4)),
            ("_broadcast", (2, 1, 3, 2), (3, 2, 4)), ("_3d_2d", (2, 3, 4), (4, 5)),
            ("_2d_3d", (3, 4), (2, 4, 5)), ("_1d_1d", (4,), (4,)), ("_1d_2d", (4,), (4, 3)),
            ("_2d_1d", (3, 4), (4,)), ("_1d_3d", (4,), (2, 4, 3)), ("_3d_1d", (2, 3, 4), (4,))):
        case = group.case(f"matmul{suffix}", "matmul")
        a, b = case.input("a", case.normal(*left)), case.input("b", case.normal(*right))
        case.finish(torch.matmul(a, b))
    case = group.case("outer", "outer")
    a, b = case.input("a", case.normal(3)), case.input("b", case.normal(5))
    case.finish(torch.outer(a, b))

    for name, equation, left, right in (
            ("matmul", "ij,jk->ik", (3, 4), (4, 2)),
            ("second_transposed", "ij,kj->ik", (3, 4), (2, 4)),
            ("result_transposed", "ij,jk->ki", (3, 4), (4, 2)),
            ("batch", "bij,bjk->bik", (2, 3, 2), (2, 2, 4)),
            ("vector", "ij,j->i", (3, 4), (4,)),
            ("outer", "i,j->ij", (3,), (5,)),
            ("dot", "i,i->", (4,), (4,)),
            ("elementwise", "ij,ij->ij", (3, 4), (3, 4)),
            ("contract_all", "ij,ij->", (3, 4), (3, 4)),
            ("sum_one_side", "ijk,kl->il", (2, 3, 4), (4, 5)),
            ("scores", "bthd,bshd->bhts", (2, 3, 2, 2), (2, 4, 2, 2)),
            ("mix_values", "bhts,bshd->bthd", (1, 2, 3, 4), (1, 4, 2, 3)),
            ("linear_ellipsis", "...d,fd->...f", (2, 3, 4), (5, 4)),
            ("batch_ellipsis", "...ij,...jk->...ik", (2, 2, 3, 2), (2, 2, 2, 4)),
            ("broadcast_ellipsis", "...ij,...jk->...ik", (2, 1, 3, 2), (3, 2, 2)),
            ("ellipsis_last", "i...,ij->j...", (3, 2, 4), (3, 5))):
        case = group.case(f"einsum_{name}", "einsum", equation=equation)
        a, b = case.input("a", case.normal(*left)), case.input("b", case.normal(*right))
        case.finish(torch.einsum(equation, a, b))


def make():
    group = Group()
    for add in (arithmetic, elementwise, reductions, ordering, indexing, selection, joining,
                products):
        add(group)
    return group
