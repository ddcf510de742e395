#include "features/embedding.hpp"

#include <bit>
#include <cmath>

#include "core/convert.hpp"
#include "core/exec.hpp"
#include "core/random.hpp"

namespace garner {

namespace {

// --- initial values ----------------------------------------------------------------------------------------------------------------------
// Normal distribution by Marsaglia's polar method: its logarithm is of integers, and its other operations round the same on all processors
// (no fused multiply-add, which would round once).
GARNER_HD inline double normal_number(std::uint64_t seed, std::uint64_t stream, std::uint64_t i) {
  constexpr std::uint64_t tries = 64, one = std::uint64_t{1} << 62;
  for (std::uint64_t k = 0; k < tries; ++k) {
    std::uint64_t const bits = random_bits(seed, stream, i * tries + k);
    auto const u = static_cast<std::int64_t>(static_cast<std::int32_t>(bits)),
               v = static_cast<std::int64_t>(static_cast<std::int32_t>(bits >> 32));
    auto const s = static_cast<std::uint64_t>(u * u) + static_cast<std::uint64_t>(v * v);
    if (s == 0 || s >= one) continue;  // within the circle of 2^31
    double const log2 = static_cast<double>(minus_log2(s << 2)) * 0x1p-40;
    double const square = log2 * 1.3862943611198906 / (static_cast<double>(s) * 0x1p-62);  // 2 ln 2
    return static_cast<double>(u) * 0x1p-31 * std::sqrt(square);
  }
  return 0;
}

// Elements of rows as f32, and back, rounded to the nearest. Both kinds of 16 bits share their code, for few instantiations.
GARNER_HD inline float number(float bits, element) { return bits; }
GARNER_HD inline float number(std::uint16_t bits, element kind) {
  return kind == element::f16 ? half_to_float(bits) : brain_to_float(bits);
}
template <class Bits>
GARNER_HD inline Bits stored(float f, [[maybe_unused]] element kind) {
  if constexpr (sizeof(Bits) == sizeof(float)) return f;
  else return kind == element::f16 ? float_to_half(f) : float_to_brain(f);
}

template <class Bits>
struct draw_record {
  record_view to;
  std::uint64_t first, first_id, seed;
  initializer how;
  double spread;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    std::uint64_t const id = first_id + k;
    char* const record = const_cast<char*>(to.rows[first + k].row);
    t.each(indices{0, to.part}, [&](std::uint64_t c) {
      double value = 0;
      if (c < to.width && how == initializer::normal) value = normal_number(seed, id, c) * spread;
      else if (c < to.width && how == initializer::uniform) {
        double const u = unit_float(random_bits(seed, id, c));
        value = (u + u - 1) * spread;
      }
      reinterpret_cast<Bits*>(record)[c] = stored<Bits>(static_cast<float>(value), to.kind);
    });
    auto* const state = reinterpret_cast<float*>(record + to.row_bytes());
    t.each(indices{0, (to.rows.stride - to.row_bytes()) / sizeof(float)}, [&](std::uint64_t c) { state[c] = 0; });
  }
};

// Two numbers of one element, as one word that a lane loads and stores.
GARNER_HD inline float low_of(std::uint64_t pair) { return std::bit_cast<float>(static_cast<std::uint32_t>(pair)); }
GARNER_HD inline float high_of(std::uint64_t pair) { return std::bit_cast<float>(static_cast<std::uint32_t>(pair >> 32)); }
GARNER_HD inline std::uint64_t pair_of(float low, float high) {
  return std::uint64_t{std::bit_cast<std::uint32_t>(high)} << 32 | std::bit_cast<std::uint32_t>(low);
}
// An array of a record as its team reads it: whole lines.
template <class T>
GARNER_HD inline span<T> array_at(char const* at, std::uint64_t n, bool near) {
  auto const address = reinterpret_cast<std::uintptr_t>(at);
  std::uint64_t const begin = address % lanes::line_bytes / sizeof(T);
  return {reinterpret_cast<T const*>(address / lanes::line_bytes * lanes::line_bytes), begin, begin + n, near};
}

// --- one array of them -------------------------------------------------------------------------------------------------------------------
template <class Bits>
struct read_array {
  record_view records;
  std::uint32_t which;
  std::uint64_t first;
  float* to;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    auto const [row, where] = records.rows[first + k];
    char const* const state = row + records.row_bytes();
    float* const mine = to + k * records.width;
    bool const near = where != tier::host;
    if (which == 0) {
      auto const elements = array_at<Bits>(row, records.width, near);
      return t.each(elements, [&](Bits value, std::uint64_t j) { mine[j - elements.begin] = number(value, records.kind); });
    }
    if (records.optimizer != row_optimizer::adam) {
      auto const numbers = array_at<float>(state, records.width, near);
      return t.each(numbers, [&](float value, std::uint64_t j) { mine[j - numbers.begin] = value; });
    }
    auto const moments = array_at<std::uint64_t>(state, records.width, near);
    t.each(moments, [&](std::uint64_t pair, std::uint64_t j) { mine[j - moments.begin] = which == 1 ? low_of(pair) : high_of(pair); });
  }
};
template <class Bits>
struct write_array {
  record_view records;
  std::uint32_t which;
  std::uint64_t first;
  float const* from;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t k) const {
    char* const record = const_cast<char*>(records.rows[first + k].row);
    auto* const row = reinterpret_cast<Bits*>(record);
    auto* const state = reinterpret_cast<float*>(record + records.row_bytes());
    t.each(indices{0, records.width}, [&](std::uint64_t c) {
      float const value = from[k * records.width + c];
      if (which == 0) row[c] = stored<Bits>(value, records.kind);
      else state[records.at(which, c)] = value;
    });
  }
};

// --- steps -------------------------------------------------------------------------------------------------------------------------------
// The gradients of one row: entries [i, last) of the order, by ascending position.
struct group {
  gradient_rows g;
  std::uint64_t first, last = 0;
  GARNER_HD static bool begins(gradient_rows const& g, std::uint64_t i) { return i == 0 || g.order.keys[i - 1] != g.order.keys[i]; }
  GARNER_HD group(gradient_rows const& of, std::uint64_t i) : g(of), first(i), last(i + 1) {
    while (last < g.count && g.order.keys[last] == g.order.keys[i]) ++last;
  }
  GARNER_HD float one(std::uint64_t i) const {
    return g.kind == element::f32 ? static_cast<float const*>(g.rows)[i] : number(static_cast<std::uint16_t const*>(g.rows)[i], g.kind);
  }
  GARNER_HD float sum(std::uint64_t width, std::uint64_t c) const {
    float all = one(g.order.positions[first] * width + c);
    for (std::uint64_t k = first + 1; k < last; ++k) all += one(g.order.positions[k] * width + c);
    return all;
  }
};

struct look_at_group {
  gradient_rows g;
  std::uint64_t rows, width;
  step_findings* found;
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (!group::begins(g, i) || g.order.id(i) >= rows) return;
    group const mine(g, i);
    t.each(indices{0, width}, [&](std::uint64_t c) {
      float const sum = mine.sum(width, c);
      if (sum - sum != 0) atomic_min(&found->bad_gradient, i);
    });
  }
};

struct count_groups {
  static constexpr std::uint64_t entries_an_item = 1024;
  row_view from;
  gradient_rows g;
  step_findings* found;
  struct one {
    count_groups const& all;
    bool far;
    GARNER_HD std::uint64_t operator()(std::uint64_t i) const {
      if (!group::begins(all.g, i)) return 0;
      std::uint64_t const id = all.g.order.id(i);
      return id < all.from.rows && (!far || all.from[id].where == tier::host);
    }
  };
  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t item) const {
    indices const mine{item * entries_an_item, smaller((item + 1) * entries_an_item, g.count)};
    std::uint64_t const rows = t.sum(mine, one{*this, false}), far = t.sum(mine, one{*this, true});
    t.once([&] {
      atomic_add(&found->rows, rows);
      atomic_add(&found->far_rows, far);
    });
  }
};

template <class Bits>
struct step_record {
  record_view to;
  gradient_rows g;
  step_numbers by;
  step_findings const* found;

  template <class Team>
  GARNER_HD void operator()(Team t, std::uint64_t i) const {
    if (!group::begins(g, i)) return;
    if (found->bad_id != ~std::uint64_t{0} || found->bad_gradient != ~std::uint64_t{0}) return;
    group const mine(g, i);
    auto const [at, where] = to.rows[g.order.id(i)];
    bool const near = where != tier::host;
    span<Bits> const row = array_at<Bits>(at, to.part, near);
    std::uint64_t const begin = row.begin, end = row.end;
    // Also for optimizer state: element c has the number begin + c.
    auto const put = [&](std::uint64_t j, float value) { const_cast<Bits*>(row.data)[j] = stored<Bits>(value, to.kind); };
    auto const gradient = [&](std::uint64_t j) { return j - begin < to.width ? mine.sum(to.width, j - begin) : 0.0f; };
    auto const state = reinterpret_cast<std::uintptr_t>(at) + to.row_bytes();
    switch (to.optimizer) {
      case row_optimizer::sgd:
        return t.each(row, [&](Bits value, std::uint64_t j) { put(j, number(value, to.kind) - by.rate * gradient(j)); });
      case row_optimizer::adagrad: {
        span<float> const sums{reinterpret_cast<float const*>(state - begin * sizeof(float)), begin, end, near};
        return t.each(row, sums, [&](Bits value, float sum, std::uint64_t j) {
          float const d = gradient(j), now = sum + d * d;
          const_cast<float*>(sums.data)[j] = now;
          put(j, number(value, to.kind) - by.rate * (d / (std::sqrt(now) + by.epsilon)));
        });
      }
      case row_optimizer::adam: {
        span<std::uint64_t> const moments{reinterpret_cast<std::uint64_t const*>(state - begin * sizeof(std::uint64_t)), begin, end, near};
        return t.each(row, moments, [&](Bits value, std::uint64_t pair, std::uint64_t j) {
          float const d = gradient(j), m0 = low_of(pair), v0 = high_of(pair);
          float const m = m0 + by.first_share * (d - m0), v = v0 + by.second_share * (d * d - v0);
          const_cast<std::uint64_t*>(moments.data)[j] = pair_of(m, v);
          put(j, number(value, to.kind) - by.rate * (m / (std::sqrt(v) + by.epsilon)));
        });
      }
    }
  }
};

template <class F>
void with_bits(record_view const& v, F f) {
  if (v.kind == element::f32) f(float{});
  else f(std::uint16_t{});
}

}  // namespace

void draw_records(executor& x, record_view const& v, std::uint64_t first, std::uint64_t count, std::uint64_t id,
                  embedding_options const& o) {
  with_bits(v, [&]<class Bits>(Bits) { for_each_item<32>(x, count, draw_record<Bits>{v, first, id, o.seed, o.init, o.init_scale}); });
}
void read_records(executor& x, record_view const& v, std::uint32_t which, std::uint64_t first, std::uint64_t count, float* to) {
  with_bits(v, [&]<class Bits>(Bits) { for_each_item<32>(x, count, read_array<Bits>{v, which, first, to}); });
}
void write_records(executor& x, record_view const& v, std::uint32_t which, std::uint64_t first, std::uint64_t count, float const* from) {
  with_bits(v, [&]<class Bits>(Bits) { for_each_item<32>(x, count, write_array<Bits>{v, which, first, from}); });
}

void look_at_gradients(executor& x, record_view const& v, gradient_rows const& g, step_findings* found) {
  for_each_item<32>(x, g.count, look_at_group{g, v.rows.rows, v.width, found});
  constexpr std::uint64_t each = count_groups::entries_an_item;
  for_each_item<32>(x, (g.count + each - 1) / each, count_groups{v.rows, g, found});
}
void step_records(executor& x, record_view const& v, gradient_rows const& g, step_numbers const& n, step_findings const* found) {
  with_bits(v, [&]<class Bits>(Bits) { for_each_item<32>(x, g.count, step_record<Bits>{v, g, n, found}); });
}

}  // namespace garner
