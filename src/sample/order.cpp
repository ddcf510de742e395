// See order.hpp. Cost: a sort of 12 bytes per seed each epoch.
#include "sample/order.hpp"

#include "core/exec.hpp"
#include "core/fail.hpp"
#include "core/primitives.hpp"
#include "core/random.hpp"

namespace garner {

namespace {

constexpr std::uint64_t shuffles = std::uint64_t{1} << 62;  // streams beyond those of mini-batches

struct draw_keys {
  std::int64_t const* seeds;
  std::uint64_t* keys;
  std::uint32_t* positions;
  std::uint64_t seed, stream;
  bool shuffle;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    keys[i] = shuffle ? random_bits(seed, stream, static_cast<std::uint64_t>(seeds[i])) : i;
    positions[i] = static_cast<std::uint32_t>(i);
  }
};
struct take_share {
  std::int64_t const* seeds;
  std::uint32_t const* order;
  std::uint64_t n;
  std::uint32_t rank, ranks;
  std::int64_t *ids, *positions;
  template <class Team>
  GARNER_HD void operator()(Team, std::uint64_t i) const {
    std::uint32_t const k = order[(rank + i * ranks) % n];
    positions[i] = k;
    ids[i] = seeds[k];
  }
};

}  // namespace

epoch_order order_of_epoch(executor& x, std::span<std::int64_t const> seeds, bool shuffle, std::uint64_t seed, std::uint64_t epoch,
                           std::uint32_t rank, std::uint32_t ranks) {
  std::uint64_t const n = seeds.size(), share = (n + ranks - 1) / ranks;
  if (n >= ~0u) fail(errc::usage, "{} seeds; 2^32 - 2 is the most", n);
  epoch_order made;
  made.epoch = epoch;
  made.ids = {x.near(), share, x.device(), "the seeds of an epoch"},
  made.positions = {x.near(), share, x.device(), "the seeds of an epoch"};
  if (n == 0) return made;
  buffer<std::uint64_t> keys(x.near(), n, x.device(), "the order of an epoch"), spare(x.near(), n, x.device(), "the order of an epoch");
  buffer<std::uint32_t> order(x.near(), n, x.device(), "the order of an epoch"),
      spare_order(x.near(), n, x.device(), "the order of an epoch");
  for_each_item<1>(x, n, draw_keys{seeds.data(), keys.data(), order.data(), seed, shuffles + epoch, shuffle});
  std::span<std::uint32_t> sorted = order.span();
  if (shuffle) sort_by_key(x, keys.span(), spare.span(), sorted, spare_order.span());
  for_each_item<1>(x, share, take_share{seeds.data(), sorted.data(), n, rank, ranks, made.ids.data(), made.positions.data()});
  x.wait();
  return made;
}

}  // namespace garner
