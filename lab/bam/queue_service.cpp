// See queue_service.hpp.
#include "lab/bam/queue_service.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <future>
#include <thread>

#include "core/fail.hpp"
#include "memory/page.hpp"

namespace garner::lab {

namespace {
constexpr std::uint32_t leaving = 1u << 31;
constexpr std::uint64_t sector = 512;  // that places are counted in
}  // namespace

class queue_service::worker {
 public:
  worker(queue_service& home, std::vector<unsigned> queues) : home_(home), files_(home.files_, home.memory_) {
    for (unsigned const q : queues) {
      served s;
      s.number = q;
      s.rings = home.queues_[q].rings;
      served_.push_back(s);
    }
    thread_ = std::jthread([this] { run(); });
  }
  // Ends what is under way of a queue and begins its rings anew; whatever went wrong is thrown.
  void restart(unsigned queue) {
    std::promise<void> done;
    auto const waits = done.get_future();
    {
      std::lock_guard const hold(mutex_);
      order_ = {queue, &done};
      ordered_.store(true, std::memory_order_release);
    }
    waits.wait();
    if (failed_) std::rethrow_exception(std::exchange(failed_, nullptr));
  }
  void join() { thread_.join(); }

 private:
  struct served {
    unsigned number = 0;
    queue_rings rings;
    std::uint32_t head = 0, next = 0;  // commands read (modulo the depth), completions written
  };
  struct job {  // a command under way
    bool used = false;
    std::uint32_t queue = 0, id = 0, left = 0, status = 0;
    read_request read;                // its first piece of memory, mostly the only one
    std::vector<read_request> reads;  // the others
  };
  struct order {
    unsigned queue = 0;
    std::promise<void>* done = nullptr;
  };

  void run() {
    unsigned idle = 0;
    for (;;) {
      std::uint32_t const readers = home_.readers_.load(std::memory_order_acquire);
      if (ordered_.load(std::memory_order_acquire)) obey();
      if (readers & leaving) break;
      if (readers == 0 && (abandoned_ || files_.under_way() == 0)) {
        home_.readers_.wait(readers, std::memory_order_acquire);
        idle = 0;
        continue;
      }
      bool moved = false;
      if (!abandoned_) try {
          for (std::uint32_t k = 0; k < served_.size(); ++k) moved |= take(k);
          submit();
          if (files_.under_way())
            for (read_done const& d : files_.wait(256, 0)) finish(d), moved = true;
        } catch (std::exception const& e) {
          give_up(e.what());
          moved = true;
        }
      idle = moved ? 0 : idle + 1;
      if (idle) back_off(idle);
    }
    take_back();
  }
  // Whether nothing is under way any more: an engine that fails may fail here too.
  bool take_back() noexcept {
    try {
      files_.cancel();
      return true;
    } catch (...) {
      return false;
    }
  }

  // Commands behind the doorbell of a queue; whether there were any.
  bool take(std::uint32_t k) {
    served& s = served_[k];
    std::uint32_t const tail = std::atomic_ref<std::uint32_t>(*s.rings.tail_doorbell).load(std::memory_order_acquire);
    if (tail >= s.rings.depth || s.head == tail) return false;
    while (s.head != tail) {
      nvme_command const c = s.rings.commands[s.head];
      __builtin_prefetch(s.rings.commands + ((s.head + 4) & (s.rings.depth - 1)));
      s.head = (s.head + 1) & (s.rings.depth - 1);
      begin(k, c);
    }
    return true;
  }

  void begin(std::uint32_t k, nvme_command const& c) {
    std::uint32_t const id = nvme::id_of(c);
    auto const refuse = [&](std::uint32_t status) { complete(k, id, status | nvme::final_bit); };
    if (nvme::opcode_of(c) != static_cast<std::uint32_t>(nvme::io::read)) return refuse(nvme::invalid_opcode);
    if (nvme::name_space_of(c) != home_.drives_[0].name_space) return refuse(nvme::invalid_name_space);
    std::uint64_t const size = home_.files_.size(), blocks = (nvme::word_of(c, 12) & 0xffff) + 1;
    if (c.words[5] >= home_.drives_[0].blocks || blocks > home_.drives_[0].blocks - c.words[5]) return refuse(nvme::out_of_range);
    std::uint64_t const offset = c.words[5] * sector, asked = blocks * sector, bytes = std::min(asked, size - offset);

    std::uint32_t const at = take_job();
    job& j = jobs_[at];
    j.used = true;
    j.queue = k, j.id = id, j.status = 0;
    // The pieces of memory; adjacent ones are merged.
    j.read = {offset, 0, reinterpret_cast<void*>(c.words[3]), at};
    read_request* last = &j.read;
    j.reads.clear();
    std::uint64_t done = 0, list = 0;
    for (std::uint64_t piece = c.words[3];;) {
      std::uint64_t const n = std::min(asked - done, page_bytes - piece % page_bytes);
      auto* const to = reinterpret_cast<std::byte*>(piece);
      std::uint64_t const wanted = done < bytes ? std::min(n, bytes - done) : 0;
      if (n > wanted) std::memset(to + wanted, 0, n - wanted);
      if (static_cast<std::byte*>(last->to) + last->bytes == to) last->bytes += wanted;
      else if (wanted) last = &j.reads.emplace_back(read_request{offset + done, wanted, to, at});
      done += n;
      if (done == asked) break;
      if (list == 0 && asked - done <= page_bytes) piece = c.words[4];
      else piece = reinterpret_cast<std::uint64_t const*>(c.words[4])[list++];
    }
    ask(j);
  }
  void ask(job& j) {
    j.left = 1 + static_cast<std::uint32_t>(j.reads.size());
    fresh_.push_back(j.read);
    if (!j.reads.empty()) fresh_.insert(fresh_.end(), j.reads.begin(), j.reads.end());
  }
  void submit() {
    if (fresh_.empty()) return;
    asked_.swap(fresh_);
    fresh_.clear();
    files_.submit(asked_);
  }

  void finish(read_done const& d) {
    job& j = jobs_[d.tag];
    if (d.problem) {
      j.status = nvme::status(7, static_cast<std::uint32_t>(d.problem) & 0xff, true);
      home_.note(home_.files_.error_of(d).what());
    }
    if (--j.left) return;
    if (home_.wrong_ && j.status == 0) check(j);
    end(static_cast<std::uint32_t>(d.tag));
  }
  void check(job& j) {
    std::span<std::byte const> all{static_cast<std::byte const*>(j.read.to), j.read.bytes};
    if (!j.reads.empty()) {
      whole_.assign(all.begin(), all.end());
      for (read_request const& r : j.reads)
        whole_.insert(whole_.end(), static_cast<std::byte const*>(r.to), static_cast<std::byte const*>(r.to) + r.bytes);
      all = whole_;
    }
    std::string words = home_.wrong_(j.read.offset, all);
    if (words.empty()) return;
    j.status = nvme::status(7, EBADMSG, true);
    home_.note(std::move(words));
  }
  void end(std::uint32_t at) {
    job& j = jobs_[at];
    j.used = false;
    complete(j.queue, j.id, j.status);
    free_.push_back(at);
  }
  // There is room: no more commands are under way than the ring has entries for.
  void complete(std::uint32_t k, std::uint32_t id, std::uint32_t status) {
    served& s = served_[k];
    auto* const entry = const_cast<std::uint32_t*>(s.rings.completions[s.next & (s.rings.depth - 1)].words);
    entry[0] = 0;
    entry[2] = s.head | (s.number + 1) << 16;
    std::uint32_t const last = nvme::last_word(id, nvme::phase_at(s.next, s.rings.depth), status);
    std::atomic_ref<std::uint32_t>(entry[3]).store(last, std::memory_order_release);
    ++s.next;
  }
  // Requests in flight end with an error: the reader threw. A read beyond cancellation stays open, since a completion would allow reuse of
  // its frame: the request runs into its time limit, and the restart that follows cancels it, or fails.
  void give_up(char const* why) noexcept {
    try {
      home_.note(why);
    } catch (...) {  // no memory for the words
    }
    fresh_.clear();
    abandoned_ = !take_back();
    for (std::uint32_t at = 0; at < jobs_.size() && !abandoned_; ++at)
      if (jobs_[at].used) jobs_[at].status = nvme::status(7, ECANCELED, true), end(at);
  }

  void obey() {
    order o;
    {
      std::lock_guard const hold(mutex_);
      o = order_;
      ordered_.store(false, std::memory_order_relaxed);
    }
    try {
      files_.cancel();  // all; those of other queues are submitted again
      if (files_.lost())
        fail(errc::io, "{}: {} reads have not ended and cannot be taken back; the drive does not answer", home_.drives_[0].name,
             files_.lost());
      abandoned_ = false;
      fresh_.clear();
      for (std::uint32_t at = 0; at < jobs_.size(); ++at) {
        job& j = jobs_[at];
        if (!j.used) continue;
        if (served_[j.queue].number == o.queue) {
          j.used = false;
          free_.push_back(at);
        } else {
          ask(j);
        }
      }
      for (served& s : served_)
        if (s.number == o.queue) {
          s.head = s.next = 0;
          auto const entries = const_cast<nvme_completion*>(s.rings.completions);
          std::memset(static_cast<void*>(entries), 0, s.rings.depth * sizeof(nvme_completion));
          *s.rings.tail_doorbell = *s.rings.head_doorbell = 0;
        }
    } catch (...) {
      failed_ = std::current_exception();
    }
    o.done->set_value();
  }

  std::uint32_t take_job() {
    if (free_.empty()) {
      jobs_.emplace_back();
      free_.reserve(jobs_.capacity());  // the end of a loop allocates no memory
      return static_cast<std::uint32_t>(jobs_.size() - 1);
    }
    std::uint32_t const at = free_.back();
    free_.pop_back();
    return at;
  }

  queue_service& home_;
  read_queue files_;
  std::vector<served> served_;
  std::vector<job> jobs_;
  std::vector<std::uint32_t> free_;
  bool abandoned_ = false;                   // reads under way could not be taken back
  std::vector<read_request> fresh_, asked_;  // those of the next submit, and of the last
  std::vector<std::byte> whole_;             // a command's bytes, where its memory is in pieces
  std::mutex mutex_;
  std::atomic<bool> ordered_{false};
  order order_;
  std::exception_ptr failed_;
  std::jthread thread_;
};

queue_service::queue_service(reader& files, service_options const& options)
    : files_(files), wrong_(options.wrong), memory_(std::make_shared<mapped_memory>(options.device)) {
  if (options.threads == 0 || options.queues < options.threads)
    fail(errc::usage, "{} threads for {} queues; at least a thread, and a queue for each", options.threads, options.queues);
  if (!std::has_single_bit(options.depth) || options.depth < 2 || options.depth > most_queue_depth)
    fail(errc::usage, "queues of {} entries; use a power of two from 2 to {}", options.depth, most_queue_depth);
  std::string const name = files.drives().size() == 1 ? files.drives()[0].name : fmt::format("{} files", files.drives().size());
  drives_ = {{name, 1, static_cast<std::uint32_t>(sector), (files.size() + sector - 1) / sector, 0}};
  for (unsigned q = 0; q < options.queues; ++q) {
    // Commands, completions, and each doorbell on a line of its own.
    std::size_t const commands = options.depth * sizeof(nvme_command), completions = options.depth * sizeof(nvme_completion);
    std::byte* const at = memory_->allocate(commands + completions + 256, "rings of request queues");
    blocks_.push_back(at);
    auto* const doorbells = reinterpret_cast<std::uint32_t*>(at + commands + completions);
    queues_.push_back(
        {{reinterpret_cast<nvme_command*>(at), reinterpret_cast<nvme_completion*>(at + commands), doorbells, doorbells + 32, options.depth},
         0});
  }
  try {
    for (unsigned t = 0; t < options.threads; ++t) {
      std::vector<unsigned> mine;
      for (unsigned q = t; q < options.queues; q += options.threads) mine.push_back(q);
      workers_.push_back(std::make_unique<worker>(*this, std::move(mine)));
    }
  } catch (...) {
    leave();
    throw;
  }
}
void queue_service::leave() noexcept {
  readers_.fetch_or(leaving, std::memory_order_acq_rel);
  readers_.notify_all();
  for (auto const& w : workers_) w->join();
  workers_.clear();
  for (std::byte* const at : blocks_) memory_->release(at);
}
queue_service::~queue_service() { leave(); }
void queue_service::begin() {
  readers_.fetch_add(1, std::memory_order_acq_rel);
  readers_.notify_all();
}
void queue_service::end() noexcept { readers_.fetch_sub(1, std::memory_order_acq_rel); }

std::vector<unsigned> queue_service::restart(unsigned queue, std::span<std::uint16_t const>) {
  begin();  // so that the thread is awake
  struct sleep_again {
    queue_service& s;
    ~sleep_again() { s.end(); }
  } const again{*this};
  workers_[queue % workers_.size()]->restart(queue);
  return {queue};
}

void queue_service::note(std::string words) {
  std::lock_guard const hold(mutex_);
  error_ = std::move(words);
}
std::string queue_service::explain(unsigned, std::uint32_t status) const {
  if ((status >> 8 & 7) != 7) return {};
  std::lock_guard const hold(mutex_);
  return error_;
}

}  // namespace garner::lab
