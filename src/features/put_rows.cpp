// See garner/put_rows.hpp. In a feature file whole pages are written, with their checksums and the heads that hold these.
#include "garner/put_rows.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "core/fail.hpp"
#include "core/input_file.hpp"
#include "core/progress.hpp"
#include "features/put_rows.hpp"
#include "features/row_file.hpp"
#include "files/npy.hpp"
#include "storage/file_changes.hpp"

namespace garner {

namespace {

constexpr std::uint64_t at_once = 64u << 20;  // bytes of a journal

struct row_to_put {
  std::uint64_t row;
  std::byte const* bytes;
};
using rows_to_put = std::span<row_to_put const>;

std::vector<row_to_put> in_order(std::span<std::int64_t const> ids, std::span<std::byte const> rows, std::uint64_t count,
                                 std::uint64_t row_bytes, std::string const& name) {
  if (ids.size() * row_bytes != rows.size())
    fail(errc::usage, "{}: {} bytes for {} rows of {} bytes; give each id a row", name, rows.size(), ids.size(), row_bytes);
  std::vector<row_to_put> all;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    auto const id = static_cast<std::uint64_t>(ids[k]);
    if (id >= count)
      fail_id("id {} at position {}: {} has {}", ids[k], k, name, count ? fmt::format("rows 0 to {}", count - 1) : "no rows");
    all.push_back({id, rows.data() + k * row_bytes});
  }
  std::stable_sort(all.begin(), all.end(), [](auto const& a, auto const& b) { return a.row < b.row; });
  std::size_t kept = 0;  // of equal ids the last
  for (std::size_t k = 0; k < all.size(); ++k)
    if (k + 1 == all.size() || all[k + 1].row != all[k].row) all[kept++] = all[k];
  all.resize(kept);
  return all;
}

changed_files stripes_of(page_head const& head, std::filesystem::path const& file) {
  changed_files f{head.names, head.id};
  if (f.files.empty()) f.files.push_back(file.string());
  return f;
}

// By names and id alone, which no change touches, since the rest of a head may be half written.
changed_files stripes_in(std::filesystem::path const& file) {
  input_file const in(file);
  std::vector<std::byte> fixed(std::min<std::uint64_t>(in.size(), 96));
  in.read(fixed.data(), fixed.size(), 0);
  if (fixed.size() < 96 || !begins_as_page_file(fixed)) fail(errc::input, "{}: is not a feature file (.gnt)", file.string());
  std::uint32_t stripe = 0;
  std::memcpy(&stripe, fixed.data() + 48, 4);
  if (stripe == page_head::no_stripe)  // the list, which no change writes
    return stripes_of(page_head::parse(in.name(), in.size(), [&](void* to, std::uint64_t n, std::uint64_t at) { in.read(to, n, at); }),
                      file);
  changed_files one{{file.string()}, {}};
  std::memcpy(one.id.data(), fixed.data() + 24, one.id.size());
  return one;
}

void put_pages(row_file& rows, std::filesystem::path const& file, rows_to_put some) {
  page_file& pages = rows.pages();
  page_head const& head = pages.head();
  row_places const& at = rows.places();
  std::map<std::uint64_t, std::string> changed;
  for (row_to_put const& r : some)
    for (std::uint64_t done = 0; done < at.row_bytes;) {
      std::uint64_t const byte = at(r.row) + done, page = byte / at.page_bytes, from = byte % at.page_bytes,
                          n = std::min(at.row_bytes - done, at.page_bytes - from);
      auto const [of, fresh] = changed.try_emplace(page);
      if (fresh) {
        of->second.resize(at.page_bytes);
        read_pages(pages, page, 1, of->second.data());
      }
      std::memcpy(of->second.data() + from, r.bytes + done, n);
      done += n;
    }
  std::map<std::uint32_t, std::vector<std::uint32_t>> sums;  // of the stripes that change
  std::vector<file_change> changes;
  auto const own_head = [&](std::uint32_t k) {
    page_head own = head;
    own.names.clear();
    own.stripe = k, own.own_pages = head.pages_of(k);
    return own;
  };
  for (auto& [page, bytes] : changed) {
    std::uint64_t const unit = page / head.unit_pages;
    auto const k = static_cast<std::uint32_t>(unit % head.stripes);
    std::uint64_t const own_page = unit / head.stripes * head.unit_pages + page % head.unit_pages;
    page_head const own = own_head(k);
    std::uint64_t const sums_at = own.begin() + own.own_pages * own.page_bytes;
    auto& all = sums[k];
    if (all.empty()) {
      all.resize(own.own_pages);
      input_file(pages.stripes()[k]).read(all.data(), all.size() * 4, sums_at);
    }
    all[own_page] = checksum_of_page(head, page, bytes.data());
    changes.push_back({k, sums_at + own_page * 4, std::string(reinterpret_cast<char const*>(&all[own_page]), 4)});
    changes.push_back({k, own.begin() + own_page * own.page_bytes, std::move(bytes)});
  }
  for (auto const& [k, all] : sums) {
    page_head own = own_head(k);
    own.sums_checksum = ::XXH3_64bits(all.data(), all.size() * 4);
    changes.push_back({k, 0, own.written()});
  }
  change_files(file, pages.stripes(), head.id, changes, [&] { pages.files().require_unchanged(); });
}

}  // namespace

void finish_puts(std::filesystem::path const& file, bool pages) { finish_changes(file, pages ? stripes_in : itself_alone); }

void put_rows(std::filesystem::path const& file, std::span<std::int64_t const> ids, std::span<std::byte const> rows) try {
  bool const pages = is_row_file(file);
  finish_puts(file, pages);
  std::uint64_t row_bytes = 0, begin = 0;
  std::vector<row_to_put> all;
  {
    std::optional<npy_file> plain;
    std::optional<row_file> paged;
    npy_layout const& layout = pages ? paged.emplace(file).layout() : plain.emplace(file);
    row_bytes = layout.row_bytes(), begin = layout.head_bytes();
    all = in_order(ids, rows, layout.rows(), row_bytes, file.string());
  }
  if (row_bytes == 0) return;
  std::uint64_t const cost = pages ? std::max<std::uint64_t>(row_bytes, 4096) : row_bytes + 24,
                      most = std::max<std::uint64_t>(1, at_once / cost);
  for (std::uint64_t k = 0; k < all.size(); k += most) {
    check_interrupted();
    rows_to_put const some = rows_to_put(all).subspan(k, std::min<std::uint64_t>(most, all.size() - k));
    if (pages) {
      row_file now(file);  // with the checksums of the part before
      put_pages(now, file, some);
      continue;
    }
    std::vector<file_change> changes;
    for (row_to_put const& r : some)
      changes.push_back({0, begin + r.row * row_bytes, std::string(reinterpret_cast<char const*>(r.bytes), row_bytes)});
    changed_files const own = itself_alone(file);
    change_files(file, own.files, own.id, changes);
  }
} catch (...) {
  rethrow_as_error();
}

}  // namespace garner
