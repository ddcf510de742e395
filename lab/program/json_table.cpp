#include "verbs.hpp"

namespace garner::lab {

std::string_view json_table() {
  return R"(
= @provenance
  device driver: str?; the GPU's name; its driver
  date: str
  commit: str?; of the program
  garner command time: str; version; command line; time (UTC)

= @head
  @provenance
  place: str; as --device
  threads: int

= @bench_graph
  name: str
  vertices edges training_vertices: int

= @counted
  link: {}?; of the link, all runs together
    requests: {}; number of requests by size
      32 64 96 128: int; of so many bytes
      pages: int; of 4 KiB
    bytes_link bytes_useful: int

= traversal: the file of `garner-lab traversal`
  schema: 'garner.bench.traversal'
  version: 1
  @provenance
  machine: {}; where it ran, and limits
    place: str; as --device
    device: str?; the GPU's name
    threads l2_bytes: int
    device_budget host_budget: int?
    link: {}?; its rates
      copy_gbs zero_copy_gbs: num
      paged_gbs: num?
      line_requests_giga sector_requests_giga: num
  protocol: {}
    name statistic: str
    sources trials iterations seed: int
  graphs: {}[]
    name: str
    vertices edges degree_max: int
    directed: bool
    shares: {}[]; cumulative
      degree: int
      share: num
  patterns: {}[]
    pattern: str
    bytes: int
    ms gbs: num?
    @counted
    verified: bool
    skipped: str?; why it was not measured
  jobs: {}[]; one row per mode
    graph job way: str
    label: str; printed next to the bar
    paper: bool; the paper's mode, else Garner's own
    place: str
    access: access
    tier: tier
    id_bytes: int
    data_bytes state_bytes: int; edges (SSSP: and weights) once, as stored; local memory
    device_budget: int?
    ms: num[]
    ms_statistic: num?; mean or median of ms, null where time was simulated
    prepare_ms: num?; before the clock of the first run, not part of ms; null: simulated
    iterations: int
    @counted
    modelled: bool; requests are computed in closed form
    predicted: {}[]; of a mean run
      gbs ms: num
    verified: bool; every run passed its verifier
    skipped: str?; why it was not measured

= tiering: the file of `garner-lab tiering`
  schema: 'garner.bench.tiering'
  version: 2
  @head
  rule: str
  train: str; training nodes, as given
  batch epochs seed row_bytes: int
  ceiling: int; epochs of the other training, for each of epochs; 0: omitted
  presample: int[]; epochs that sampled counted
  kept: num[]; fractions of the rows, ascending from 0 to 1
  graphs: {}[]
    @bench_graph
    directed: bool
    scores: {}[]
      score: str
      iterations: int
      ms: num
    traces: {}[]; the first: the given fanouts; then the depths of figure 4.10
      fanouts: int[]
      epochs batches accesses sampled: int
      ms: num
      gathered: int; mini-batches
      no_gathers: str?; why none was
      curves: {}[]; oracle, another training, ceiling and each score
        score: str
        of_oracle_at_10: num; fraction of the oracle
        hits link_bytes: num[]; fraction of accesses, at each of kept; bytes per epoch of accesses that no cached row serves, at each of kept
        gathers: {}[]; of the first trace, per mini-batch
          kept link_bytes: num
          ms: num?; null where nothing is timed

= gather: the file of `garner-lab gather`
  schema: 'garner.bench.gather'
  version: 1
  @head
  table_bytes trials seed: int
  link_gbs: num?; the link's rate
  rows: {}[]; one per line of output
    figure label way order: str; the gather, and how it was done
    row_bytes ids batches: int
    duplicates: str; once or repeat, as done; empty for one copy per row
    multiprocessors load_bytes: int; at most so many; bytes per load
    ms gbs rows_a_second: num?
    of_link: num?; on the host, the fraction of one memcpy per row
    requests: int; simulated
    beside: {}?; while arithmetic ran
      share: str; how the gather got its multiprocessors: partition or grid
      rest: int; multiprocessors of the arithmetic
      gather_alone_gbs: num
      whole_ms rest_ms beside_ms: num; one arithmetic kernel on the whole device; the kernel on the rest; the kernel concurrent with the gather
      slower slower_than_alone: num; concurrent against whole, as a fraction; concurrent against rest, as a fraction
    why skipped: str; why this strategy and order were chosen; why it was not measured, or empty

= load: the file of `garner-lab load`
  schema: 'garner.bench.load'
  version: 1
  @head
  fanouts: int[]
  rule share: str; the training
  score: str; which rows are cached
  batch row_bytes seed: int
  compute_ms: num
  link_gbs: num?; the link's rate
  graphs: {}[]
    @bench_graph
  rows: {}[]; one per line of output
    graph figure: str
    lists way: str; tier of the adjacency; the strategy
    kept: num; fraction cached per device
    devices window: int
    multiprocessors batches: int; 0: all of them; mini-batches timed
    ms ms_median sample_ms fetch_ms gather_ms caller_waited_ms loader_waited_ms: num?; per mini-batch; null where nothing is timed
    vertices edges near_rows peer_rows far_rows window_rows fetched_rows far_bytes: num; per mini-batch
    moments: {}[]; stages while two windows were gathered
      index: int
      sample fetch gather: num[]; begin and end in ms, 0 and 0 where outside of that time
      handed: num
    skipped: str?; why it was not measured

= @bench_stages
  ms sample_ms fetch_ms gather_ms model_ms caller_waited_ms loader_waited_ms: num?; per epoch; stages overlap
  near_rows peer_rows far_rows far_bytes: num; rows by tier; bytes over the link

= train: the file of `garner-lab train`
  schema: 'garner.bench.train'
  version: 1
  @head
  fanouts: int[]
  share: str; the training and the model
  batch hidden classes seed: int
  link_gbs: num?; the link's rate
  graphs: {}[]
    @bench_graph
  rows: {}[]; one per line of output, per epoch
    graph figure: str
    lists way: str; tier of the adjacency; the strategy
    score: str?
    kept: num; fraction cached per device
    devices width: int; number of devices; floats per row
    batches epochs_timed: int; mini-batches per epoch; epochs averaged below
    @bench_stages
    ms_median: num?; null where nothing is timed
    loss: num?; of the last epoch, the same in all rows of one graph and width
    skipped: str?; why it was not measured
  trainable: {}[]; a trainable table
    optimiser: str
    rows width: int
    step_rows record_bytes steps: int; distinct rows per step; bytes of a row with its state; steps timed
    kept: num
    gather_ms update_ms update_ms_median: num?; per step
    far_rows far_bytes: num; rows over the link per step; their bytes with their state, read by an update and as many written
    gather_floor_ms update_floor_ms: num?; at the link's rates
    of_floor of_both_floors: num?; the update over its floor; both over their floors
    skipped: str?; why it was not measured
  courses: {}[]; trainings on communities
    @bench_graph
    epochs: {}[]
      epoch: int
      loss: num?
      accuracy: num; over the training nodes, with dropout, before each step
      train_accuracy validation_accuracy test_accuracy: num?; over all neighbors
      @bench_stages

= storage: the file of `garner-lab storage`
  schema: 'garner.bench.storage'
  version: 1
  @head
  fanouts: int[]
  share: str
  batch seed: int
  warm: int; untimed mini-batches
  compute_ms: num
  cache_batches: num; size of the cache, in mini-batches
  link_gbs: num; rate of the link that the drives share
  link_measured: bool; measured, or given
  graphs: {}[]; all node types together
    @bench_graph
    like: str; the paper's data set
    heterogeneous: bool
    table_rows row_bytes: int
    memory: num; fraction of its table in the paper's host memory
    rows_a_batch: num; rows per mini-batch
  rows: {}[]; one per line of output; figures are per mini-batch
    graph figure way: str
    policy: str?; of the cache
    drive: str?; name of a simulated one; file; null: not read
    drives window slots: int
    batches: int; mini-batches timed
    ms sample_ms copy_ms model_ms: num?
    read_ms: num?; time waiting for reads
    asked: num; rows requested (mmap: pages)
    hits resident: num; found in memory; pinned in host memory
    reads read_bytes: num
    possible possible_in_window: num?; hits of Belady's rule; its hits of rows that recur within the window only
    metadata_bytes: num?; per slot
    compared: int; rows compared, in total
    gbs: num[]; of cold: rows delivered, by mini-batch
    skipped: str?; why it was not measured

= shards: the file of `garner-lab shards`
  schema: 'garner.bench.shards'
  version: 3
  @head
  shards shrink seed trials: int; the request
  width: int; elements per row
  rates: {}; behind the floors
    memory_gbs cache_gbs link_gbs launch_us meeting_us: num
    cache_bytes: int
    measured: bool
  over: str?; the provider of remote rows and their transport; null: one shard
  no_uvm: str?; why managed rows were left out; null: they were not
  graphs: {}[]
    name: str
    vertices edges: int
    imbalance: num; of its split: largest edge count over the mean
    cut_edges remote_rows: int; edges to other parts, rows needed
    references split_ms: num
  rows: {}[]; one per line of output
    graph: str
    study: str; ways; gcn, gin: figure 8, aggregations of a model; ablation, sweep: figures 9 and 10
    shards: int
    way sums wire: str; strategy
    width layers: int; elements per row; aggregations per time
    ps dist wpb: int?; for mgg and uvm, else null
    whole_lists apart: bool; figure 9: lists not split; local and remote work in separate warps
    plain_reads: bool; remote rows are read synchronously, without overlap with local sums
    prepare_ms: num; adjacency of the slowest shard
    ms: num; the slowest shard's
    against_one: num?; divided by that of one device
    bytes most_bytes: int; of other shards' rows, in total; of other shards' rows, of the shard with the most
    links: int[][]; the same by link: a list per reader, of bytes from each owner
    memory_bytes: num; local, of the slowest shard (one device: of all)
    floor_ms: num?; the time its bytes need
    forward: {}?; for gcn and gin the whole pass
      inputs classes: int
      columns: int[]; of its aggregations in turn
      ms: num
      against_one floor_ms: num?; its floor includes GEMM bytes
    steps: {}[]; what a search measured to find this one, in order; empty: not searched for
      ps dist wpb: int
      ms: num

= traffic: `garner-lab traffic --json`
  file graph: str; the graph; what it holds, in words
  vertices edges id_bytes: int
  in_edges_built_ms: num?; as for all algorithms
  algorithm variant: str; the request
  tier: tier
  step: str; what a step of the algorithm is called
  source iterations: int?; of a search, else null; of pagerank with --iterations, else null
  l2_bytes data_bytes: int; modeled L2; bytes of the edge list (sssp: and weights)
  not_here?: str; why a time is missing here
  runs: {}[]; one per access
    access: access
    edges: int; edges seen
    requests: {}; number of requests by size
      32 64 96 128: int; of so many bytes
    pages request_count sectors: int; pages of 4 KiB; all requests; sectors of 32 bytes
    bytes_link bytes_useful: int; bytes over the link; bytes requested
    amplification overfetch: num; bytes over the link by those of the edge list; bytes over the link by the bytes requested
    ms: {}; by link
      @by_link
    adjacency_reads: {}?; tier file: what was read of it; else null
      @reads
      @shares
      steps: {}[]; one per step
        @reads

= trace: `garner-lab trace --json`
  file: str; the graph
  nodes edges: int
  in_edges_built_ms: num?; as for all algorithms
  device: str; as --device
  tier: tier
  fanouts: int[]; -1: all neighbors
  rule: 'all'|'last'
  batch seed training_nodes epochs: int; the training
  batches: int; mini-batches
  accesses rows_read: int; unique rows per mini-batch, summed; distinct rows
  edges_sampled: int
  ms: num; time
  bytes_link: int?; simulated: bytes over the link; else null
)";
}

}  // namespace garner::lab
