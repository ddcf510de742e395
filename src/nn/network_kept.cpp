// Forward and backward with rows kept in host memory: the device has one array of rows of all vertices, which a layer's aggregation and
// then its blocks replace (two for GraphSAGE, and with a residual; with host_layers these are in host memory too, and rows leave for it
// while the next ones come). All but aggregation is of a block at a time. Invariant: the bits are those of forward() and backward() with
// the same blocks. Cost: what a layer's first product takes crosses the link once each way (of the first layer, where its product comes
// first, the table's rows cross instead), and the products of a block are made twice.
#include <algorithm>
#include <utility>

#include "nn/network.hpp"

namespace garner {

// f(block, its first row, rows, the pass of these alone) for each block.
template <class Real>
template <class F>
void network<Real>::each_kept(executor& x, pass const& p, F const& f) {
  if (far_) far_->gone.before(x);  // a block reads what others have written before, and none what this call writes of others
  for (std::size_t b = 0; b + 1 < p.blocks.size(); ++b) {
    std::uint64_t const first = p.blocks[b], count = p.blocks[b + 1] - first;
    pass q = p;
    q.blocks = {}, q.workers = nullptr, q.bring = {}, q.first_row += first;
    q.gradients = by_block_.empty() ? nullptr : by_block_.data() + b * reserved_;
    f(b, first, count, q);
  }
}

// Rows of the table, with dropout.
template <class Real>
typename network<Real>::rows_in network<Real>::inputs_of(executor& x, pass const& p, pass const& of_block, std::uint64_t first,
                                                         std::uint64_t count) {
  rows_in const rows = p.bring ? p.bring(first, count) : rows_in{p.inputs[0].row(first), p.inputs[0].stride};
  dropped const drop = drop_of(of_block, 0, 0);
  if (drop.share <= 0) return rows;
  rows_out const to{room(x, dropped_inputs_[0], count * shape_.inputs[0], "rows with dropout"), shape_.inputs[0]};
  drop_rows(x, rows, to, count, shape_.inputs[0], drop);
  return {to.data, to.stride};
}

// All layers use the same workspaces of a block.
template <class Real>
typename network<Real>::layer_of_type& network<Real>::take_rooms(std::uint32_t l) {
  std::swap(static_cast<rooms&>(layers_[l][0]), static_cast<rooms&>(layers_[rooms_at_][0]));
  rooms_at_ = l;
  return layers_[l][0];
}

// A model may be trained in one way and then in another.
template <class Real>
void network<Real>::place_layers(executor& x, pass const& p) {
  bool const far = p.kept && p.host_layers;
  if (far == (far_ != nullptr)) return;
  x.tell_move();
  far_ = far ? std::make_unique<far_rows>(x) : nullptr;
  retire(x, std::exchange(of_taken_, {}));
  for (auto& side : of_rows_)
    for (buffer<Real>& rows : side) retire(x, std::exchange(rows, {}));
}

// An array of rows of all vertices. In host memory it is in panels: 64 columns of all rows, then the next 64, so that what an aggregation
// takes crosses the link in one piece, and a block in one piece for each 64 columns.
template <class Real>
typename network<Real>::rows_out network<Real>::all_rows(executor& x, pass const& p, buffer<Real>& in, std::uint64_t columns,
                                                         char const* what) {
  std::uint64_t const held = p.host_layers ? panels(columns) * columns_at_once : columns;
  if (far_) far_->gone.before(x);
  return {whole_room(x, in, p.rows[0][0] * held, what, p.host_layers ? tier::host : x.near()), columns};
}
template <class Real>
bool network<Real>::in_panels(Real const* rows) const {
  return far_ && rows && (rows == of_rows_[0][0].data() || rows == of_rows_[1][0].data() || rows == of_taken_.data());
}
// f(rows of a panel of an array, its first column, columns): of `count` rows from `first` on.
template <class Real>
template <class F>
void network<Real>::each_panel(pass const& p, Real* all, std::uint64_t first, std::uint64_t columns, F const& f) {
  for (std::uint64_t c = 0; c < columns; c += columns_at_once)
    f(rows_out{all + c * p.rows[0][0] + first * columns_at_once, columns_at_once}, c, std::min(columns_at_once, columns - c));
}

// Copies the rows of a block to the device, or takes them where they are.
template <class Real>
void network<Real>::bring_block(executor& x, pass const& p, rows_out all, std::uint64_t first, std::uint64_t count, std::uint64_t columns,
                                rows_out to) {
  if (!in_panels(all.data)) return drop_rows(x, rows_in{all.row(first), all.stride}, to, count, columns, {});
  rows_out const here{room(x, of_panel_, count * columns_at_once, "rows of a block"), columns_at_once};
  each_panel(p, all.data, first, columns, [&](rows_out there, std::uint64_t c, std::uint64_t w) {
    x.copy(here.data, there.data, count * columns_at_once * sizeof(Real));
    drop_rows(x, rows_in{here.data, here.stride}, {to.data + c, to.stride}, count, w, {});
  });
}
template <class Real>
typename network<Real>::rows_out network<Real>::block_of(executor& x, pass const& p, buffer<Real>& to, rows_out all, std::uint64_t first,
                                                         std::uint64_t count, std::uint64_t columns) {
  if (!in_panels(all.data)) return {all.row(first), all.stride};
  rows_out const here{room(x, to, count * columns, "rows of a block"), columns};
  bring_block(x, p, all, first, count, columns, here);
  return here;
}
template <class Real>
void network<Real>::put_block(executor& x, pass const& p, rows_in rows, rows_out all, std::uint64_t first, std::uint64_t count,
                              std::uint64_t columns) {
  if (!in_panels(all.data)) {
    if (rows.data != all.row(first)) drop_rows(x, rows, {all.row(first), all.stride}, count, columns, {});
    return;
  }
  if (count == 0) return;
  each_panel(p, all.data, first, columns, [&](rows_out there, std::uint64_t c, std::uint64_t w) {
    leased<buffer<Real>>& by = far_->panels[far_->turn++ % 2];
    rows_out const here{room(x, by.fill(x), count * columns_at_once, "rows of a block"), columns_at_once};
    drop_rows(x, rows_in{rows.data + c, rows.stride}, here, count, w, {});
    far_->put(x, by, there.data, count * columns_at_once);
  });
}
template <class Real>
void network<Real>::watch_blocks(executor& x, pass const& p, char const* what, std::uint32_t l, rows_out rows, std::uint64_t columns) {
  if (!p.watch) return;
  each_kept(x, p, [&](std::size_t, std::uint64_t first, std::uint64_t count, pass const&) {
    rows_out const here{room(x, of_block_, count * columns, "rows of a block"), columns};
    bring_block(x, p, rows, first, count, columns, here);
    p.watch(what, l, 0, first, {here.data, here.stride}, count, columns);
  });
}

// Aggregation of some columns at a time, so that rows times their factors, and a copy where `out` is `in` or `self`, are of these alone.
template <class Real>
void network<Real>::aggregate_kept(executor& x, pass const& p, bool back, rows_in in, rows_out out, std::uint64_t columns, rows_in self) {
  std::uint64_t const n = p.rows[0][0];
  bool const comes = in_panels(in.data), goes = in_panels(out.data), own_far = in_panels(self.data);
  bool const apart = goes || out.data == in.data || out.data == self.data;
  if (far_) far_->gone.before(x);
  std::uint64_t const most = comes || goes ? columns_at_once : std::min(columns, columns_at_once), bytes = n * most * sizeof(Real);
  auto const some_of = [&](rows_in of, bool far, std::uint64_t c) {
    return far ? rows_in{of.data + c * n, most} : rows_in{of.data + c, of.stride};
  };
  for (std::uint64_t c = 0; c < columns; c += most) {
    std::uint64_t const w = std::min(most, columns - c);
    buffer<Real>& sums = far_ ? far_->columns.fill(x) : some_columns_;
    rows_out const to =
        apart ? rows_out{whole_room(x, sums, n * most, "some columns of rows", x.near()), most} : rows_out{out.data + c, out.stride};
    rows_in from = some_of(in, comes, c), own = self.data ? some_of(self, own_far, c) : self;
    if (comes) {
      Real* const here = whole_room(x, columns_that_come_, n * most, "some columns of rows", x.near());
      x.copy(here, from.data, bytes);
      if (self.data == in.data) own = {here, most};
      from = {here, most};
    }
    if (back) (*p.edges)[0].backward(x, from, to, n, n, w, own, false);
    else (*p.edges)[0].forward(x, from, to, n, w, own);
    if (goes) far_->put(x, far_->columns, out.data + c * n, n * most);
    else if (apart) drop_rows(x, {to.data, to.stride}, rows_out{out.data + c, out.stride}, n, w, {});
  }
}

template <class Real>
row_block<Real> network<Real>::forward_kept(executor& x, pass const& p) {
  using kept = kept_rows<Real>;
  network_shape const& s = shape_;
  std::uint64_t const n = p.rows[0][0];
  bool const sage = s.kind == model_kind::sage, gin = s.kind == model_kind::gin, first_comes_first = product_first(p, 0, 0);
  bool const as_they_are = !s.residual && !first_comes_first && !p.bring && drop_of(p, 0, 0).share <= 0;
  auto const keep = [&](std::uint32_t l, typename kept::kind of, std::size_t b, rows_in rows, std::uint64_t columns) {
    if (p.training) p.kept->keep({l, of}, b, rows, columns);
  };
  bool const far = p.host_layers;
  auto const array = [&](buffer<Real>& of, std::uint64_t columns) { return all_rows(x, p, of, columns, "rows of a layer"); };
  auto const scores_of_all = [&](std::uint64_t columns) {  // losses read them again and again
    return far ? rows_out{whole_room(x, all_scores_, n * columns, "scores", x.near()), columns} : array(of_rows_[1][0], columns);
  };
  // Rows take the place of those that they are made of, block by block: so all but scores have the stride of the widest.
  std::uint64_t widest = s.residual ? s.hidden : first_comes_first ? 0 : s.inputs[0];
  auto const apart = [&](std::uint32_t l) {  // scores, which losses read again and again, and rows that are used again
    return l + 1 == s.layers && !s.residual && (far || (sage && l > 0 && product_first(p, l, 0)));
  };
  for (std::uint32_t l = 0; l < s.layers; ++l) widest = std::max(widest, apart(l) ? 0 : outputs(l));
  Real* const at = array(of_rows_[0][0], widest).data;

  rows_out here{at, widest};
  if (s.residual || (!first_comes_first && !as_they_are))
    each_kept(x, p, [&](std::size_t, std::uint64_t first, std::uint64_t count, pass const& q) {
      rows_in const rows = inputs_of(x, p, q, first, count);
      put_block(x, p, s.residual ? encode(x, q, 0, rows, count) : rows, here, first, count, width(0, 0));
    });
  for (std::uint32_t l = 0; l < s.layers; ++l) {
    layer_of_type& of = take_rooms(l);
    dense const& first_product = of.products[0];
    std::uint64_t const in = width(l, 0), out = first_product.out;
    rows_in source{here.data, here.stride};
    if (l == 0 && as_they_are) source = p.inputs[0];
    if (s.residual && s.layer_norm) {
      rows_out const normed = array(of_rows_[1][0], in);
      each_kept(x, p, [&](std::size_t, std::uint64_t first, std::uint64_t count, pass const&) {
        rows_out const rows = block_of(x, p, of_block_, here, first, count, in);
        put_block(x, p, source_of(x, l, 0, {rows.data, rows.stride}, count), normed, first, count, in);
      });
      source = {normed.data, normed.stride};
    }
    of.product_first = product_first(p, l, 0);
    rows_out const next = apart(l) ? scores_of_all(outputs(l)) : rows_out{at, l + 1 == s.layers && !s.residual ? outputs(l) : widest};
    if (of.product_first) {
      auto const multiply_part = [&](pass const& q, rows_in rows, std::uint64_t count, std::uint64_t part, Real beta, rows_out to) {
        q.products->product(false, true, count, out, in, Real{1}, rows.data, rows.stride, values_.data() + first_product.weight + part,
                            first_product.in, beta, to.data, to.stride);
      };
      bool const in_place = in_panels(next.data) || (l > 0 && next.data == here.data);
      auto const rows_of = [&](std::uint64_t first, std::uint64_t count, pass const& q) -> rows_in {
        if (l == 0) return inputs_of(x, p, q, first, count);
        rows_out const rows = block_of(x, p, of_made_, here, first, count, in);
        return {rows.data, rows.stride};
      };
      each_kept(x, p, [&](std::size_t b, std::uint64_t first, std::uint64_t count, pass const& q) {
        rows_in const rows = rows_of(first, count, q);
        rows_out const there{next.row(first), next.stride},
            made = in_place ? rows_out{room(x, of_block_, count * out, "rows of a block"), out} : there;
        multiply_part(q, rows, count, of.part[0], 0, made);
        if (l > 0) keep(l, kept::taken, b, rows, in);
        put_block(x, p, {made.data, made.stride}, next, first, count, out);
      });
      rows_in const products{next.data, next.stride};
      aggregate_kept(x, p, false, products, next, out, gin ? products : rows_in{});
      each_kept(x, p, [&](std::size_t b, std::uint64_t first, std::uint64_t count, pass const& q) {
        rows_out const made = block_of(x, p, of_block_, next, first, count, out);
        if (sage) multiply_part(q, rows_of(first, count, q), count, of.own_part, 1, made);
        if (made_again(l)) keep(l, kept::made, b, {made.data, made.stride}, out);
        rows_out const result = finish_made(x, q, l, {made.data, made.stride}, count);
        put_block(x, p, {result.data, result.stride}, next, first, count, outputs(l));
      });
    } else {
      // In place of the rows, where these are not used again.
      bool const again = sage || (s.residual && !s.layer_norm);
      rows_out const sums = again ? array(of_taken_, in) : s.residual ? rows_out{of_rows_[1][0].data(), in} : here;
      aggregate_kept(x, p, false, source, sums, in, gin ? source : rows_in{});
      each_kept(x, p, [&](std::size_t b, std::uint64_t first, std::uint64_t count, pass const& q) {
        rows_out const before = s.residual ? block_of(x, p, of_made_, here, first, count, in) : rows_out{};
        rows_in const came{before.data, before.stride};
        rows_out rows;
        if (sage) {  // and its own row
          rows = {room(x, of.taken, count * first_product.in, "aggregated rows"), first_product.in};
          bring_block(x, p, sums, first, count, in, {rows.data + of.part[0], rows.stride});
          bring_block(x, p, {const_cast<Real*>(source.data), source.stride}, first, count, in, {rows.data + of.own_part, rows.stride});
        } else {
          rows = block_of(x, p, of.taken, sums, first, count, in);
        }
        rows_in const taken{rows.data, rows.stride};
        keep(l, kept::taken, b, taken, first_product.in);
        if (s.residual && (s.layer_norm || l == 0)) keep(l, kept::in, b, came, in);
        multiply_taken(x, q, l, 0, taken, count);
        rows_out const result = finish(x, q, l, 0, came, count);
        put_block(x, p, {result.data, result.stride}, next, first, count, outputs(l));
      });
    }
    here = next;
    watch_blocks(x, p, "rows", l, here, outputs(l));
  }
  if (!s.residual) return here;
  rows_out const scores = scores_of_all(s.classes);
  each_kept(x, p, [&](std::size_t b, std::uint64_t first, std::uint64_t count, pass const& q) {
    rows_out const there = block_of(x, p, of_block_, here, first, count, s.hidden);
    rows_in const rows{there.data, there.stride};
    keep(s.layers, kept::in, b, rows, s.hidden);
    rows_out const found = scores_of(x, q, rows, count);
    put_block(x, p, {found.data, found.stride}, scores, first, count, s.classes);
  });
  return scores;
}

// Whether backward needs what its first product made, where that comes before the aggregation: for all but a last layer of one product.
template <class Real>
bool network<Real>::made_again(std::uint32_t l) const {
  return l + 1 < shape_.layers || layers_[l][0].products.size() > 1;
}
template <class Real>
typename network<Real>::rows_out network<Real>::finish_made(executor& x, pass const& p, std::uint32_t l, rows_in made,
                                                            std::uint64_t count) {
  rows_out const to = first_room(x, l, 0, count);
  drop_rows(x, made, to, count, to.stride, {});
  layers_[l][0].ended = false;
  return finish(x, p, l, 0, {}, count);
}

template <class Real>
void network<Real>::backward_kept(executor& x, pass const& p, rows_out scores) {
  using kept = kept_rows<Real>;
  network_shape const& s = shape_;
  std::uint64_t const n = p.rows[0][0];
  bool const sage = s.kind == model_kind::sage, gin = s.kind == model_kind::gin;
  auto const of_rows = [&](std::uint32_t side, std::uint64_t columns) {
    return all_rows(x, p, of_rows_[side][0], columns, "gradients of rows");
  };
  rows_out g = scores;  // of the rows that come out of a layer
  auto const room_of = [&](buffer<Real>& in, rows_out all, std::uint64_t first, std::uint64_t count, std::uint64_t columns) {
    return in_panels(all.data) ? rows_out{room(x, in, count * columns, "gradients of a block"), columns}
                               : rows_out{all.row(first), all.stride};
  };
  if (s.residual) {
    ends_of_type& end = ends_[0];
    rows_out const of_in = of_rows(s.layers % 2, s.hidden);
    each_kept(x, p, [&](std::size_t b, std::uint64_t first, std::uint64_t count, pass const& q) {
      rows_in const rows = p.kept->bring({s.layers, kept::in}, b, s.hidden),
                    taken = s.layer_norm ? norm_rows(x, end.norm, rows, count, end.normed) : rows;
      rows_out const to = room_of(of_block_, of_in, first, count, s.hidden);
      multiply_back(x, q, end.last, taken, count, {g.row(first), g.stride}, to);
      if (s.layer_norm) norm_rows_back(x, q, end.norm, rows, count, to);
      put_block(x, p, {to.data, to.stride}, of_in, first, count, s.hidden);
    });
    g = of_in;
  }
  for (std::uint32_t l = s.layers; l-- > 0;) {
    layer_of_type& of = take_rooms(l);
    dense const& first_product = of.products[0];
    bool const wanted = l > 0 || s.residual;
    std::uint64_t const in = width(l, 0), out = first_product.out, columns = outputs(l);
    watch_blocks(x, p, "gradient", l, g, columns);
    if (of.product_first) {
      each_kept(x, p, [&](std::size_t b, std::uint64_t first, std::uint64_t count, pass const& q) {
        if (made_again(l)) finish_made(x, q, l, p.kept->bring({l, kept::made}, b, out), count);
        rows_out const here = block_of(x, p, of_block_, g, first, count, columns);
        activation_back(x, q, l, 0, here, count);
        rows_out const of_made = second_back(x, q, l, 0, here, count);
        sum_columns(x, q, {of_made.data, of_made.stride}, count, out, first_product.bias);
        put_block(x, p, {of_made.data, of_made.stride}, g, first, count, out);
      });
      if (l > 0) p.kept->expect({l, kept::taken});
      rows_in const gradient{g.data, g.stride};
      rows_out const small = sage ? all_rows(x, p, of_taken_, out, "gradients of products") : g;
      aggregate_kept(x, p, true, gradient, small, out, gin ? gradient : rows_in{});
      rows_out const of_in = wanted ? of_rows(0, in) : rows_out{};
      each_kept(x, p, [&](std::size_t b, std::uint64_t first, std::uint64_t count, pass const& q) {
        rows_in const rows = l == 0 ? inputs_of(x, p, q, first, count) : p.kept->bring({l, kept::taken}, b, in);
        rows_out const to = wanted ? room_of(of_middle_, of_in, first, count, in) : rows_out{};
        block const all{0, count, q.gradients, x, *q.products, sums_};
        product_back(all, first_product, of.part[0], rows, block_of(x, p, of_made_, small, first, count, out), to, false);
        if (sage) product_back(all, first_product, of.own_part, rows, block_of(x, p, of_block_, g, first, count, out), to, true);
        if (wanted) put_block(x, p, {to.data, to.stride}, of_in, first, count, in);
      });
      g = of_in;
      continue;
    }
    // Gradients of aggregated rows replace those of the rows that came out, or, with a residual, have an array of their own; those of the
    // rows that came in replace them in turn. GraphSAGE's are in two arrays: of its own rows, and of aggregated ones.
    rows_out const of_in = wanted ? of_rows(s.residual ? l % 2 : 0, in) : rows_out{};
    rows_out const of_sums = wanted && sage ? all_rows(x, p, of_taken_, in, "gradients of aggregated rows") : of_in;
    each_kept(x, p, [&](std::size_t b, std::uint64_t first, std::uint64_t count, pass const& q) {
      rows_in const taken = p.kept->bring({l, kept::taken}, b, first_product.in);
      multiply_taken(x, q, l, 0, taken, count);
      rows_out here = block_of(x, p, of_made_, g, first, count, columns);
      if (s.residual && !in_panels(g.data)) {  // what goes round the layer stays as it is
        here = {room(x, of_made_, count * columns, "gradients of rows"), columns};
        bring_block(x, p, g, first, count, columns, here);
      }
      finish(x, q, l, 0, {here.data, here.stride}, count);  // the sum with the residual goes unused
      activation_back(x, q, l, 0, here, count);
      rows_out const of_made = second_back(x, q, l, 0, here, count);
      std::uint64_t const wide = first_product.in;
      rows_out const of_taken{wanted ? room(x, of_block_, count * wide, "gradients of aggregated rows") : nullptr, wide};
      multiply_back(x, q, first_product, taken, count, of_made, of_taken);
      if (!wanted) return;
      put_block(x, p, {of_taken.data + of.part[0], wide}, of_sums, first, count, in);
      if (sage) put_block(x, p, {of_taken.data + of.own_part, wide}, of_in, first, count, in);
    });
    if (!wanted) break;
    if (l == 0) p.kept->expect({0, kept::in});
    else if (!layers_[l - 1][0].product_first) p.kept->expect({l - 1, kept::taken});
    else if (made_again(l - 1)) p.kept->expect({l - 1, kept::made});
    rows_in const own{of_in.data, of_in.stride};
    aggregate_kept(x, p, true, {of_sums.data, of_sums.stride}, of_in, in, sage || gin ? own : rows_in{});
    if (s.residual && s.layer_norm)
      each_kept(x, p, [&](std::size_t b, std::uint64_t first, std::uint64_t count, pass const& q) {
        rows_out const here = block_of(x, p, of_block_, of_in, first, count, in);
        norm_rows_back(x, q, of.norm, p.kept->bring({l, kept::in}, b, in), count, here);
        put_block(x, p, {here.data, here.stride}, of_in, first, count, in);
      });
    if (far_) far_->gone.before(x);
    if (s.residual && in_panels(of_in.data))
      add_rows(x, {g.data, columns_at_once}, rows_out{of_in.data, columns_at_once}, n * panels(s.hidden), columns_at_once);
    else if (s.residual) add_rows(x, {g.data, g.stride}, of_in, n, s.hidden);
    g = of_in;
  }
  if (!s.residual) return;
  each_kept(x, p, [&](std::size_t b, std::uint64_t first, std::uint64_t count, pass const& q) {
    rows_out const here = block_of(x, p, of_block_, g, first, count, s.hidden);
    activate_back(x, p.kept->bring({0, kept::in}, b, s.hidden), here, count, s.hidden, true, drop_of(q, s.layers + 1, 0));
    multiply_back(x, q, ends_[0].first, inputs_of(x, p, q, first, count), count, here, {});
  });
}

template class network<float>;
template class network<double>;

}  // namespace garner
