#include "features/stored_rows.hpp"

#include <algorithm>

#include "core/fail.hpp"

namespace garner {

namespace {

constexpr std::size_t most_under_way = 16384;  // rows; the drives themselves have as many as their depth

class plain_reads final : public row_reads {
 public:
  plain_reads(std::string const& name, reader& files, std::uint64_t begin, std::uint64_t row_bytes, std::shared_ptr<void const> memory)
      : name_(name), files_(files), begin_(begin), row_bytes_(row_bytes), queue_(files, std::move(memory)) {}

  std::size_t room() const override { return most_under_way - std::min(most_under_way, queue_.under_way()); }
  std::size_t under_way() const override { return queue_.under_way(); }
  void submit(std::span<want const> wants) override {
    requests_.clear();
    for (want const& w : wants) {
      if (free_.empty()) free_.push_back(static_cast<std::uint32_t>(asked_.size())), asked_.emplace_back();
      std::uint32_t const k = free_.back();
      free_.pop_back();
      asked_[k] = {w.group, w.row};
      requests_.push_back({begin_ + w.row * row_bytes_, row_bytes_, w.to, k});
    }
    queue_.submit(requests_);
  }
  std::span<done const> wait(std::size_t wanted) override {
    done_.clear();
    for (read_done const& d : queue_.wait(4096, wanted)) {
      asked const a = asked_[d.tag];
      free_.push_back(static_cast<std::uint32_t>(d.tag));
      done_.push_back({a.group, a.row});
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
    return std::make_unique<plain_reads>(name_, files_, begin_, row_bytes_, std::move(memory));
  }
  reader& files() const override { return files_; }

 private:
  std::string name_;
  std::uint64_t begin_, rows_, row_bytes_;
  mutable reader files_;  // queues of several threads are made on it
};

}  // namespace

std::shared_ptr<stored_rows const> plain_stored_rows(std::string name, std::shared_ptr<drive_set> drives, reader_options const& how,
                                                     std::uint64_t begin, std::uint64_t rows, std::uint64_t row_bytes) {
  return std::make_shared<plain_file>(std::move(name), std::move(drives), how, begin, rows, row_bytes);
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
    if (std::uint64_t const some = std::min<std::uint64_t>(reads->room(), n - asked);
        some && (some == n - asked || some >= most_under_way / 4)) {
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
