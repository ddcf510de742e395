// Rows of a file whose pages the device requests on a miss (BaM, and GIDS without its look-ahead): no host thread knows the rows of a
// mini-batch. Its ids become distinct pages. Kernels look these up among cached pages, choose what to evict, request the others through
// request queues (queue.hpp), wait, and copy them to the device. A page may occupy the `ways` slots of one set. A clock per set
// evicts a page that neither this mini-batch used nor any other since the hand passed it. No lock is needed, since nothing changes
// between two kernels: pages are sorted by set, and one lane serves a set. A page without a slot is still read, and dropped after the
// mini-batch.
// Invariant: a slot has the page that its key names, in full; after an error all slots are empty.
// Cost: 12 bytes of device memory per slot and 4 per set; 0 for other pages. The caller waits for the drive.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>

#include "features/file_rows.hpp"
#include "features/stored_rows.hpp"
#include "lab/bam/queue.hpp"
#include "lab/bam/queue_service.hpp"

namespace garner::lab {

class page_cache final : public file_rows {
 public:
  struct terms {
    std::uint64_t host_bytes = 0;    // of pages on their way; at the host also of those that stay
    std::uint64_t device_bytes = 0;  // of pages in device memory
    std::span<float const> factors;  // by row, where i8 rows are converted; in host memory. Must outlive this
    service_options service = {};    // threads that serve the queues, and how many queues
  };
  // `table`: which rows stand in the file; what it points at must outlive this.
  page_cache(execution_device where, std::shared_ptr<stored_rows const> file, row_view const& table, terms const& t);

  std::uint64_t slots() const { return keys_.size(); }
  std::uint64_t metadata_bytes() const { return keys_.bytes() + stamps_.bytes() + hands_.bytes(); }
  std::uint64_t bytes() const override;
  std::uint64_t near_bytes() const override;
  void enter(executor& x, id_span ids) override;
  bool gather(executor& x, void* out, gather_how how, stop_check const& stopped, figures& told) override;
  void reset() override;

 private:
  struct batch {
    std::uint64_t rows = 0;
    buffer<std::uint64_t> ids;
    buffer<std::uint32_t> positions;
  };
  bool bring(executor& x, batch const& b, stop_check const& stopped, figures& told);
  void forget();

  execution_device where_;
  std::shared_ptr<stored_rows const> file_;
  row_view const& table_;
  terms terms_;
  stored_rows::page_places places_;
  std::uint64_t pages_a_row_ = 0;
  std::uint32_t sets_ = 0, ways_ = 0, now_ = 0;
  memory_block pages_, passing_;  // slots; those that found none
  buffer<std::uint64_t> keys_;
  buffer<std::uint32_t> stamps_, hands_;
  std::unique_ptr<queue_service> service_;
  std::unique_ptr<request_queues> queues_;
  file_ids finder_;
  std::deque<batch> entered_;
  std::vector<batch> idle_;
  // State of one mini-batch.
  buffer<std::uint64_t> wanted_, spare_, distinct_, asked_, order_, hits_;
  buffer<std::uint32_t> at_, numbers_, missing_, into_, results_, all_;
  buffer<std::uint8_t> misses_, homeless_;
  memory_block rows_;
  buffer<float> factors_;
};

}  // namespace garner::lab
