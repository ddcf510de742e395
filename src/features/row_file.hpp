// A feature table as a file of pages (storage/page_file.hpp): what a row is, and its offset. The file's content is the head of the .npy
// file that it was made of, so its element type and shape are those, and it can be written back. Offsets: rows do not cross pages where
// that leaves at most a quarter of a page unused (4096 / 512: 8 rows per page; 4096 / 1000: 4); else they are contiguous (602 floats; 5000
// bytes), and rows larger than a page may begin anywhere.
// Invariant: the layout follows from the bytes of a row and of a page alone, and belongs to version 1 of the format.
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "core/mark.hpp"
#include "files/npy.hpp"
#include "garner/convert.hpp"
#include "storage/page_file.hpp"

namespace garner {

struct row_places {
  std::uint64_t row_bytes = 0, page_bytes = 0, per_page = 0;  // per_page 0: back to back
  row_places() = default;
  row_places(std::uint64_t row, std::uint64_t page);
  GARNER_HD std::uint64_t operator()(std::uint64_t row) const {  // the byte of the pages at which it begins
    return per_page ? row / per_page * page_bytes + row % per_page * row_bytes : row * row_bytes;
  }
  std::uint64_t bytes_of(std::uint64_t rows) const { return rows ? (*this)(rows - 1) + row_bytes : 0; }
};

class row_file {
 public:
  // errc::input where the feature file is incomplete, or its pages hold something else.
  explicit row_file(std::filesystem::path const& file, reader_options const& options = {}, page_file::opener const& open = {});
  std::uint64_t rows() const { return layout_->rows(); }
  std::uint64_t row_bytes() const { return layout_->row_bytes(); }
  npy_layout const& layout() const { return *layout_; }  // element type, shape
  row_places const& places() const { return places_; }
  page_file& pages() { return pages_; }

 private:
  page_file pages_;
  std::unique_ptr<npy_layout> layout_;
  row_places places_;
};

// As the public one, with all of a page file's options.
rows_converted convert_rows(std::filesystem::path const& in, std::filesystem::path const& out, page_file_options const& options = {});

}  // namespace garner
