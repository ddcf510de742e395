#include "nn/train/impl.hpp"

#include "nn/infer/rows.hpp"
#include "nn/train/source.hpp"

namespace garner {

[[noreturn]] void training::impl::tell_bad() {
  loss_totals clean = sum_of(totals_seen());
  clean.bad = ~std::uint64_t{0}, clean.loss = 0;
  set_totals(clean);
  network<float>& net = m.net;
  for (parameter const& p : net.parameters())
    for (std::uint64_t r = 0; r < p.rows; ++r)
      if (first_bad(x, net.values() + p.offset + r * p.stride, p.columns) != ~std::uint64_t{0})
        fail(errc::input, "parameter {} of layer {} holds a number that is not finite; begin with another model file", p.name, p.layer + 1);
  constexpr std::uint64_t some = 1u << 16;
  std::string of_rows;  // ranks may have read different tables
  try {
    for (std::size_t t = 0; t < ground.tables.size(); ++t) {
      std::uint64_t const n = ground.vertices(t);
      buffer<float> rows(x.near(), std::min(some, n) * ground.tables[t]->width(), x.device(), "a search for numbers that are not finite");
      of_rows = ground.of_type(t);
      for (std::uint64_t at = 0; at < n; at += some)
        take_rows(x, *ground.tables[t], row_scaling::none, at, std::min(some, n - at), rows.data());
    }
    of_rows.clear();
  } catch (error const& e) {
    of_rows += e.what();
    if (!ranks) fail(e.code(), "{}", of_rows);
  }
  if (ranks) {
    std::vector<std::string> const all = ranks->all_gather(o.rank, of_rows);
    for (std::size_t k = 0; k < all.size(); ++k)
      if (!all[k].empty()) fail(errc::input, "rank {}: {}", k, all[k]);
  }
  source->search_rows(clean);
  for (parameter const& p : net.parameters())
    for (std::uint64_t r = 0; r < p.rows; ++r)
      if (first_bad(x, net.gradients() + p.offset + r * p.stride, p.columns) != ~std::uint64_t{0})
        fail(errc::input, "the gradient of {} in layer {} grew beyond what a float holds, in epoch {}; use a smaller rate than {}", p.name,
             p.layer + 1, done_epochs + 1, o.learning_rate);
  fail(errc::input, "scores grew beyond what a float holds, in epoch {}; use a smaller rate than {}", done_epochs + 1, o.learning_rate);
}

// Repeats the last step, checking each array.
void training::impl::graph_source::search_rows(loss_totals const& clean) {
  struct {
    std::uint64_t turn = ~std::uint64_t{0}, position = 0;  // which rows it was that were seen
    float value = 0;
    std::uint32_t layer = 0, type = 0;
    bool forward = false;
  } first;
  network<float>::pass p = t.pass_of_step(steady_pass());
  p.step = t.done_steps - 1, p.leave_bias = false;
  p.watch = [&](char const* what, std::uint32_t layer, std::uint32_t type, std::uint64_t from, row_block<float const> rows,
                std::uint64_t count, std::uint64_t columns) {
    if (first.turn != ~std::uint64_t{0} || count == 0) return;
    std::uint64_t const bad = first_bad(x, rows.data, count * columns);
    if (bad == ~std::uint64_t{0}) return;
    first.layer = layer, first.type = type, first.forward = what == std::string_view("rows");
    first.turn = first.forward ? layer : 2 * t.m.options.layers - layer;
    first.position = position(from + bad / columns);
    first.value = x.read(rows.data + bad);
  };
  row_block<float> const scores = net.forward(x, p);
  row_block<float> const gradient{room(x, t.of_scores, rows() * t.m.options.classes, "gradients of scores"), t.m.options.classes};
  take_losses(scores, net.bias_left(p), known, rows(), t.seeds.size(), gradient);
  net.backward(x, p, gradient);
  t.set_totals(clean);
  if (t.ranks)  // the first of all shards
    for (std::string const& said : t.ranks->all_gather(t.o.rank, bytes_of(first)))
      if (auto const other = from_bytes<decltype(first)>(said);
          std::pair(other.turn, other.position) < std::pair(first.turn, first.position))
        first = other;
  if (first.turn == ~std::uint64_t{0}) return;
  std::string const vertex = t.ground.one ? std::to_string(t.ground.one->ids()[first.position])
                                          : fmt::format("{} of '{}'", first.position, t.ground.several->types()[first.type].name);
  fail(errc::input,
       "the {} layer {} grew beyond what a float holds, in epoch {}: first at vertex {}, where {} came out; use a smaller rate than {}",
       first.forward ? "rows behind" : "gradient of the rows behind", first.layer + 1, t.done_epochs + 1, vertex, first.value,
       t.o.learning_rate);
}

}  // namespace garner
