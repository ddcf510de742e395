// Rows into pages, and back.
#include "features/row_file.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>

#include "core/fail.hpp"
#include "core/progress.hpp"
#include "core/publish.hpp"
#include "features/put_rows.hpp"

namespace garner {

row_places::row_places(std::uint64_t row, std::uint64_t page) : row_bytes(row), page_bytes(page) {
  if (row && row <= page && page % row <= page / 4) per_page = page / row;
}

namespace {

constexpr std::size_t counts_bytes = 16;        // content: rows, bytes of a row, then the head of the .npy file
constexpr std::uint64_t part_bytes = 8u << 20;  // that is in memory at once

std::string content_of(npy_layout const& layout, std::string const& head) {
  std::uint64_t const counts[2] = {layout.rows(), layout.row_bytes()};
  return std::string(reinterpret_cast<char const*>(counts), counts_bytes) + head;
}

std::unique_ptr<npy_layout> layout_of(page_file const& pages, std::string const& name) {
  std::string const& content = pages.content();
  std::uint64_t counts[2] = {}, bytes = 0;
  if (content.size() <= counts_bytes) fail(errc::input, "{}: a file of pages without a feature table; write one with garner convert", name);
  std::memcpy(counts, content.data(), counts_bytes);
  std::uint64_t const head = content.size() - counts_bytes;
  if (__builtin_mul_overflow(counts[0], counts[1], &bytes) || bytes > ~std::uint64_t{0} - head)
    fail(errc::input, "{}: {} rows of {} bytes are too many; restore it from a copy, or convert again", name, counts[0], counts[1]);
  auto made = std::make_unique<npy_layout>(name, bytes + head, [&](void* to, std::uint64_t n, std::uint64_t at) {
    if (at > head || n > head - at)
      fail(errc::input, "{}: what it says of its rows ends too soon; restore it from a copy, or convert again", name);
    std::memcpy(to, content.data() + counts_bytes + at, n);
  });
  row_places const places(made->row_bytes(), pages.page_bytes());
  if (made->rows() != counts[0] || made->row_bytes() != counts[1] || made->head_bytes() != head ||
      places.bytes_of(counts[0]) != pages.bytes())
    fail(errc::input, "{}: {} bytes of pages are not those of {} rows of {} bytes; restore it from a copy, or convert again", name,
         pages.bytes(), counts[0], counts[1]);
  return made;
}

// The rows of a file, from the first on, by parts.
struct rows_of_file {
  npy_layout const* layout = nullptr;
  std::string head;
  std::function<void(std::uint64_t first, std::uint64_t n, std::byte* to)> read;
  std::shared_ptr<void> owner;
};

rows_of_file source_of(std::filesystem::path const& in) {
  if (!is_row_file(in)) {
    auto file = std::make_shared<npy_file>(in);
    rows_of_file s{file.get(), file->head(), {}, file};
    s.read = [file](std::uint64_t first, std::uint64_t n, std::byte* to) {
      file->read(to, n * file->row_bytes(), file->head_bytes() + first * file->row_bytes());
    };
    return s;
  }
  auto file = std::make_shared<row_file>(in);
  rows_of_file s{&file->layout(), file->pages().content().substr(counts_bytes), {}, file};
  auto pages = std::make_shared<std::vector<std::byte>>();
  s.read = [file, pages](std::uint64_t first, std::uint64_t n, std::byte* to) {
    row_places const& at = file->places();
    std::uint64_t const page = at(first) / at.page_bytes, end = (at(first + n - 1) + at.row_bytes - 1) / at.page_bytes + 1;
    pages->resize((end - page) * at.page_bytes);
    read_pages(file->pages(), page, end - page, pages->data());
    for (std::uint64_t k = 0; k < n; ++k)
      std::memcpy(to + k * at.row_bytes, pages->data() + (at(first + k) - page * at.page_bytes), at.row_bytes);
  };
  return s;
}

}  // namespace

row_file::row_file(std::filesystem::path const& file, reader_options const& options, page_file::opener const& open)
    : pages_((finish_puts(file, true), file), options, open),
      layout_(layout_of(pages_, file.string())),
      places_(layout_->row_bytes(), pages_.page_bytes()) {}

bool is_row_file(std::filesystem::path const& file) try {
  input_file const in(file);
  std::vector<std::byte> start(std::min<std::uint64_t>(in.size(), 8));
  in.read(start.data(), start.size(), 0);
  return begins_as_page_file(start);
} catch (...) {
  rethrow_as_error();
}

rows_converted convert_rows(std::filesystem::path const& in, std::filesystem::path const& out, page_file_options const& options) {
  bool const into_pages = out.extension() == ".gnt";
  if (!into_pages && out.extension() != ".npy") fail(errc::usage, "{}: rows are written as .gnt or .npy; end its name so", out.string());
  rows_of_file const from = source_of(in);
  npy_layout const& layout = *from.layout;
  if (layout.row_bytes() == 0) fail(errc::input, "{}: its rows have no bytes; give it a column or more", in.string());
  rows_converted done{layout.rows(), layout.row_bytes(), 0, layout.type()};
  std::uint64_t const at_once = std::max<std::uint64_t>(part_bytes / layout.row_bytes(), 1);
  std::vector<std::byte> rows(std::min(at_once, layout.rows()) * layout.row_bytes());
  progress told("converting rows", layout.rows() * layout.row_bytes());
  auto const each_part = [&](auto const& put) {
    for (std::uint64_t first = 0; first < layout.rows(); first += at_once) {
      std::uint64_t const n = std::min(at_once, layout.rows() - first);
      from.read(first, n, rows.data());
      put(first, n);
      told.advance(n * layout.row_bytes());
    }
  };
  if (!into_pages) {
    pending_file file(out);
    file.write(from.head);
    each_part([&](std::uint64_t, std::uint64_t n) { file.write(rows.data(), n * layout.row_bytes()); });
    file.commit();
    done.bytes = layout.rows() * layout.row_bytes();
    return done;
  }
  row_places const places(layout.row_bytes(), options.page_bytes);
  page_file_writer file(out, places.bytes_of(layout.rows()), content_of(layout, from.head), options);
  std::vector<std::byte> const zeros(options.page_bytes);
  each_part([&](std::uint64_t first, std::uint64_t n) {
    // Runs of rows that lie back to back, and what is left of the pages behind them.
    for (std::uint64_t k = 0; k < n;) {
      std::uint64_t const run = places.per_page ? std::min(n - k, places.per_page - (first + k) % places.per_page) : n;
      file.write(rows.data() + k * layout.row_bytes(), run * layout.row_bytes());
      k += run;
      if (first + k == layout.rows()) break;
      file.write(zeros.data(), places(first + k) - (places(first + k - 1) + layout.row_bytes()));
    }
  });
  file.finish();
  page_head const& head = file.head();
  return {layout.rows(), layout.row_bytes(), head.pages * head.page_bytes, layout.type(), head.stripes, head.page_bytes, places.per_page};
}

rows_converted convert_rows(std::filesystem::path const& in, std::filesystem::path const& out, std::vector<std::string> const& folders,
                            std::uint32_t page_bytes) {
  // At least 64 KiB are contiguous on a stripe: a sequential reader reads so much at once.
  return as_error([&] { return convert_rows(in, out, {page_bytes, std::max((64u << 10) / std::max(page_bytes, 1u), 1u), folders}); });
}

}  // namespace garner
