#include "features/stored_rows.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>

#include "core/fail.hpp"
#include "features/row_rings.hpp"
#include "storage/measure.hpp"

namespace garner {

namespace {

constexpr std::size_t most_under_way = 16384;  // rows; the drives themselves have as many as their depth

class plain_reads final : public row_reads {
 public:
  plain_reads(std::string const& name, reader& files, std::uint64_t begin, std::uint64_t row_bytes, std::shared_ptr<void const> memory)
      : name_(name), files_(files), begin_(begin), row_bytes_(row_bytes), queue_(files, std::move(memory)) {}

  void register_memory(void* begin, std::size_t bytes) override { queue_.register_memory(begin, bytes); }
  std::size_t room() const override { return most_under_way - std::min(most_under_way, queue_.under_way()); }
  std::size_t under_way() const override { return queue_.under_way(); }
  std::size_t lost() const override { return queue_.lost(); }
  void submit(std::span<want const> wants) override {
    requests_.clear();
    for (want const& w : wants) {
      if (free_.empty()) free_.push_back(static_cast<std::uint32_t>(asked_.size())), asked_.emplace_back();
      std::uint32_t const k = free_.back();
      free_.pop_back();
      asked_[k] = {w.group, w.row, w.tag};
      requests_.push_back({begin_ + w.row * row_bytes_, row_bytes_, w.to, k});
    }
    queue_.submit(requests_);
  }
  std::span<done const> wait(std::size_t wanted) override {
    done_.clear();
    for (read_done const& d : queue_.wait(4096, wanted)) {
      asked const a = asked_[d.tag];
      free_.push_back(static_cast<std::uint32_t>(d.tag));
      done_.push_back({a.group, a.row, a.tag});
      if (d.problem) {
        error const e = files_.error_of(d);
        done_.back().problem = error(e.code(), fmt::format("{}: row {}: {}", name_, a.row, e.what()));
      }
    }
    return done_;
  }

 private:
  struct asked {
    std::uint64_t group = 0, row = 0;
    std::uint32_t tag = 0;
  };
  std::string const& name_;
  reader& files_;
  std::uint64_t begin_, row_bytes_;
  std::vector<asked> asked_;
  std::vector<std::uint32_t> free_;
  std::vector<read_request> requests_;
  std::vector<done> done_;
  read_queue queue_;
};

class plain_file final : public stored_rows {
 public:
  plain_file(std::string name, std::shared_ptr<drive_set> drives, reader_options const& how, std::uint64_t begin, std::uint64_t rows,
             std::uint64_t row_bytes)
      : name_(std::move(name)), begin_(begin), rows_(rows), row_bytes_(row_bytes), files_(std::move(drives), how) {
    if (files_.size() < begin || rows_ * row_bytes_ > files_.size() - begin)
      fail(errc::input, "{}: {} bytes, and {} rows of {} bytes from byte {} on take more", name_, files_.size(), rows_, row_bytes_, begin_);
  }
  std::string const& name() const override { return name_; }
  std::uint64_t rows() const override { return rows_; }
  std::uint64_t row_bytes() const override { return row_bytes_; }
  std::uint64_t stored_bytes() const override { return rows_ * row_bytes_; }
  std::unique_ptr<row_reads> reads(std::shared_ptr<void const> memory) const override {
    return reads_by_threads(files_.rings(), [&] { return std::make_unique<plain_reads>(name_, files_, begin_, row_bytes_, memory); });
  }
  reader& files() const override { return files_; }
  page_places places() const override { return {row_places(row_bytes_, 0), begin_, 4096}; }

 private:
  std::string name_;
  std::uint64_t begin_, rows_, row_bytes_;
  mutable reader files_;  // queues of several threads are made on it
};

// Page buffers in flight, by number; the last holder releases all of them, since a drive may still write there.
class page_room {
 public:
  explicit page_room(std::uint64_t page_bytes) : page_bytes_(page_bytes) {}
  char* take(std::uint64_t pages) {
    auto& free = free_[pages];
    if (free.empty()) {
      void* const made = std::aligned_alloc(4096, (pages * page_bytes_ + 4095) / 4096 * 4096);
      if (!made) fail(errc::memory, "{} bytes for pages of a feature file were refused by the system", pages * page_bytes_);
      all_.emplace_back(static_cast<char*>(made), &std::free);
      free.push_back(all_.back().get());
    }
    char* const at = free.back();
    free.pop_back();
    return at;
  }
  void give_back(char* at, std::uint64_t pages) { free_[pages].push_back(at); }

 private:
  std::uint64_t page_bytes_;
  std::map<std::uint64_t, std::vector<char*>> free_;
  std::vector<std::unique_ptr<char, void (*)(void*)>> all_;
};

class paged_reads final : public row_reads {
 public:
  paged_reads(std::string const& name, row_file& file, std::shared_ptr<void const> memory)
      : name_(name),
        file_(file),
        at_(file.places()),
        pages_a_row_((at_.row_bytes + at_.page_bytes - 2) / at_.page_bytes + 1),
        room_(std::make_shared<page_room>(at_.page_bytes)),
        queue_(file.pages(),
               std::make_shared<std::pair<std::shared_ptr<void const>, std::shared_ptr<page_room>>>(std::move(memory), room_)) {}

  std::size_t room() const override {
    std::uint64_t const a_row = pages_a_row_ * at_.page_bytes, left = most_staged - std::min(most_staged, staged_);
    if (rows_ == 0) return std::max<std::size_t>(1, std::min<std::uint64_t>(most_under_way, left / a_row));
    return std::min<std::uint64_t>(most_under_way - std::min(most_under_way, rows_), left / a_row);
  }
  std::size_t under_way() const override { return rows_; }
  std::size_t lost() const override { return 0; }  // they write to pages that nobody takes again
  void submit(std::span<want const> wants) override {
    requests_.clear();
    for (std::size_t k = 0; k < wants.size();) {
      std::uint64_t const first = first_page(wants[k].row);
      std::uint64_t last = last_page(wants[k].row);
      std::size_t end = k + 1;
      for (; end < wants.size() && first_page(wants[end].row) >= first && first_page(wants[end].row) <= last; ++end) {
        std::uint64_t const longer = std::max(last, last_page(wants[end].row));
        if ((longer - first + 1) * at_.page_bytes > std::max<std::uint64_t>(most_together, (last - first + 1) * at_.page_bytes)) break;
        last = longer;
      }
      if (free_.empty()) free_.push_back(pieces_.size()), pieces_.emplace_back();
      std::uint64_t const slot = free_.back();
      free_.pop_back();
      piece& p = pieces_[slot];
      p.first = first, p.pages = last - first + 1, p.at = room_->take(p.pages);
      p.wants.assign(wants.begin() + static_cast<std::ptrdiff_t>(k), wants.begin() + static_cast<std::ptrdiff_t>(end));
      staged_ += p.pages * at_.page_bytes, rows_ += p.wants.size();
      requests_.push_back({p.first, p.pages, p.at, slot});
      k = end;
    }
    queue_.submit(requests_);
  }
  std::span<done const> wait(std::size_t wanted) override {
    done_.clear();
    for (read_done const& d : queue_.wait(4096, std::min(wanted, queue_.under_way()))) {
      piece& p = pieces_[d.tag];
      for (want const& w : p.wants) {
        done_.push_back({w.group, w.row, w.tag});
        std::uint64_t page = first_page(w.row);
        std::uint64_t const end = last_page(w.row) + 1;
        if (d.problem == EBADMSG)
          while (page < end && file_.pages().right(page, p.at + (page - p.first) * at_.page_bytes)) ++page;
        if (!d.problem || (d.problem == EBADMSG && page == end)) {
          std::memcpy(w.to, p.at + (at_(w.row) - p.first * at_.page_bytes), at_.row_bytes);
          continue;
        }
        error const e = file_.pages().error_of(d);
        done_.back().problem = error(e.code(), fmt::format("{}: row {}, page {}: {}", name_, w.row, page, e.what()));
      }
      staged_ -= p.pages * at_.page_bytes, rows_ -= p.wants.size();
      if (d.problem != ETIMEDOUT) room_->give_back(p.at, p.pages);  // which a drive may still write
      free_.push_back(d.tag);
    }
    return done_;
  }

 private:
  static constexpr std::uint64_t most_staged = 64u << 20, most_together = 256u << 10;  // bytes
  struct piece {
    std::uint64_t first = 0, pages = 0;
    char* at = nullptr;
    std::vector<want> wants;
  };
  std::uint64_t first_page(std::uint64_t row) const { return at_(row) / at_.page_bytes; }
  std::uint64_t last_page(std::uint64_t row) const { return (at_(row) + at_.row_bytes - 1) / at_.page_bytes; }

  std::string const& name_;
  row_file& file_;
  row_places at_;
  std::uint64_t pages_a_row_;
  std::shared_ptr<page_room> room_;
  std::vector<piece> pieces_;
  std::vector<std::uint64_t> free_;
  std::vector<page_request> requests_;
  std::vector<done> done_;
  std::uint64_t staged_ = 0;
  std::size_t rows_ = 0;
  page_queue queue_;
};

class paged_file final : public stored_rows {
 public:
  paged_file(std::string name, std::shared_ptr<row_file> file) : name_(std::move(name)), file_(std::move(file)) {}
  std::string const& name() const override { return name_; }
  std::uint64_t rows() const override { return file_->rows(); }
  std::uint64_t row_bytes() const override { return file_->row_bytes(); }
  std::uint64_t stored_bytes() const override { return file_->pages().pages() * file_->pages().page_bytes(); }
  std::unique_ptr<row_reads> reads(std::shared_ptr<void const> memory) const override {
    return reads_by_threads(files().rings(), [&] { return std::make_unique<paged_reads>(name_, *file_, memory); });
  }
  reader& files() const override { return file_->pages().files(); }
  page_places places() const override { return {file_->places(), 0, file_->pages().page_bytes()}; }
  std::string wrong(std::uint64_t page, void const* data) const override {
    if (page >= file_->pages().pages() || file_->pages().right(page, data)) return {};
    return file_->pages().error_of(file_->pages().wrong_page(page)).what();
  }

 private:
  std::string name_;
  std::shared_ptr<row_file> file_;
};

}  // namespace

std::shared_ptr<stored_rows const> paged_stored_rows(std::string name, std::shared_ptr<row_file> file) {
  return std::make_shared<paged_file>(std::move(name), std::move(file));
}

std::shared_ptr<stored_rows const> plain_stored_rows(std::string name, std::shared_ptr<drive_set> drives, reader_options const& how,
                                                     std::uint64_t begin, std::uint64_t rows, std::uint64_t row_bytes) {
  return std::make_shared<plain_file>(std::move(name), std::move(drives), how, begin, rows, row_bytes);
}

drive_rate stored_rows::measured() const {
  std::lock_guard const hold(measuring_);
  if (measured_) return *measured_;
  constexpr std::uint64_t page = 4096;
  reader& from = files();
  std::uint64_t const bytes =
      std::min(from.size(), std::min<std::uint64_t>((row_bytes() + page - 1) / page * page, from.options().most_bytes));
  constexpr unsigned least = 64, most = 1024;  // a drive needs more than its idle latency implies; and each has memory of its own
  reader probe(from, from.options().sizes_depth ? most : from.depth());
  drive_rate r;
  r.seconds = measure_reads(probe, bytes, 1, 1, 0.02).latency.quantile(0.5) * 1e-9;
  r.requests_a_second = measure_reads(probe, bytes, probe.depth(), 1, 0.06).requests_a_second();
  // The rate of all its drives together.
  from.size_depth(static_cast<unsigned>(std::clamp<std::uint64_t>(requests_under_way(r) / from.drives().size(), least, most)));
  measured_ = r;
  return r;
}

void read_rows_of(stored_rows const& file, std::uint64_t n, std::function<void(std::uint64_t, std::uint64_t, std::uint64_t*)> const& ids_of,
                  char* to, progress* told) {
  std::uint64_t const row_bytes = file.row_bytes();
  if (row_bytes == 0) return;
  file.files().require_unchanged();
  auto const reads = file.reads({});
  std::vector<std::uint64_t> ids;
  std::vector<row_reads::want> wants;
  std::uint64_t asked = 0;
  while (asked < n || reads->under_way()) {
    if (asked < n && reads->takes(n - asked)) {
      std::uint64_t const some = std::min<std::uint64_t>(reads->room(), n - asked);
      ids.resize(some), wants.clear();
      ids_of(asked, some, ids.data());
      for (std::uint64_t k = 0; k < some; ++k) wants.push_back({ids[k], to + (asked + k) * row_bytes, 0});
      reads->submit(wants);
      asked += some;
    }
    for (row_reads::done const& d : reads->wait(1)) {
      if (d.problem) throw *d.problem;
      if (told) told->advance(row_bytes);
    }
  }
  file.files().require_unchanged();
}

}  // namespace garner
