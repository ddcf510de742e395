#include "nn/infer/rows.hpp"

#include <algorithm>
#include <numeric>

#include "core/fail.hpp"
#include "nn/pointwise.hpp"

namespace garner {

void require_numbers(executor& x, float const* rows, std::uint64_t count, std::uint64_t width,
                     std::function<std::uint64_t(std::uint64_t)> const& position, buffer<std::uint64_t>* in) {
  if (std::uint64_t const bad = first_bad(x, rows, count * width, in); bad != ~std::uint64_t{0})
    fail(errc::input, "element {} of row {} of the features is not a finite number; mend the table, or replace such numbers by 0",
         bad % width, position(bad / width));
}
void take_rows(executor& x, tiered_tensor& features, row_scaling scaling, std::uint64_t first, std::uint64_t count, float* to,
               take_room* kept, std::int64_t const* which) {
  constexpr std::uint64_t most = 1u << 20;
  take_room own;
  take_room& in = kept ? *kept : own;
  std::int64_t* const ids = room(x, in.ids, std::min(count, most), "ids of rows");
  std::vector<std::int64_t> here(std::min(count, most));
  gather_options o;
  if (features.kind() != element::f32) o.to = element::f32;
  o.order = gather_order::none, o.duplicates = gather_duplicates::repeat;  // ids are distinct, and mostly ascend
  std::uint64_t const width = features.width();
  for (std::uint64_t at = 0; at < count; at += most) {
    std::uint64_t const n = std::min(most, count - at);
    if (which) std::copy_n(which + at, n, here.begin());
    else std::iota(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(n), static_cast<std::int64_t>(first + at));
    x.copy(ids, here.data(), n * sizeof(std::int64_t));
    x.wait();
    features.gather({ids, n, 8}, {to + at * width, n * width * sizeof(float)}, o);
  }
  require_numbers(
      x, to, count, width, [&](std::uint64_t row) { return which ? static_cast<std::uint64_t>(which[row]) : first + row; }, &in.bad);
  scale_rows(x, row_block<float>{to, width}, count, width, scaling);
}

}  // namespace garner
