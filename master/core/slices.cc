#include "master/core/slices.h"

namespace mr::master {

namespace {

// The port's first partition, of all upstream tasks: all that a port has which is not read all-to-all.
Slice WholeEdge(const JobPlan& plan, const InputSpec& input, uint32_t number) {
  const StagePlan& upstream = plan.stages[input.stage];
  const uint32_t first = upstream.FirstPartition(input.port);
  return {number, first, first + 1, 0, upstream.tasks};
}

}  // namespace

std::vector<std::vector<Slice>> SlicesOf(const JobSpec& spec, const JobPlan& plan, uint32_t stage, uint32_t tasks) {
  std::vector<std::vector<Slice>> slices(tasks);
  const auto& inputs = spec.stages[stage].inputs;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_edge) continue;
    const Slice whole = WholeEdge(plan, inputs[i], i);
    const uint64_t from = whole.task_end, to = slices.size();
    for (uint32_t t = 0; t < to; ++t) {
      Slice slice = whole;
      switch (inputs[i].kind) {
        case EdgeKind::kAllToAll:
          slice.partition_begin += t;
          slice.partition_end += t;
          break;
        case EdgeKind::kManyToOne:
          slice.task_begin = static_cast<uint32_t>(from * t / to);
          slice.task_end = static_cast<uint32_t>(from * (t + 1) / to);
          break;
        case EdgeKind::kOneToOne:
          slice.task_begin = t;
          slice.task_end = t + 1;
          break;
        case EdgeKind::kBroadcast: break;
      }
      slices[t].push_back(slice);
    }
  }
  return slices;
}

std::vector<std::vector<Slice>> SlicesOf(const JobSpec& spec, const JobPlan& plan, uint32_t stage,
                                         const std::vector<Piece>& pieces) {
  std::vector<std::vector<Slice>> slices(pieces.size());
  const auto& inputs = spec.stages[stage].inputs;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_edge) continue;
    const Slice whole = WholeEdge(plan, inputs[i], i);
    for (size_t t = 0; t < pieces.size(); ++t) {
      const Piece& piece = pieces[t];
      Slice slice = whole;
      if (inputs[i].kind == EdgeKind::kAllToAll) {
        slice.partition_begin += piece.partition;
        slice.partition_end += piece.partition;
      }
      if (piece.cut && piece.input == i) {
        slice.task_begin = piece.task_begin;
        slice.task_end = piece.task_end;
      }
      slices[t].push_back(slice);
    }
  }
  return slices;
}

}  // namespace mr::master
