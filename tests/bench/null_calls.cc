#include "tests/bench/null_calls.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/io/clock.h"
#include "common/rpc/connection.h"
#include "schema/client.capnp.h"

namespace mr::bench {
namespace {

kj::Promise<void> CallMany(rpc::MasterForClient::Client& master, int* left) {
  if (--*left < 0) return kj::READY_NOW;
  return master.nullRequest().send().ignoreResult().then([&master, left] { return CallMany(master, left); });
}

}  // namespace

NullCalls MeasureNullCalls(const std::string& address) {
  auto io = kj::setupAsyncIo();
  auto connection = rpc::RpcConnection::Connect(io, address, {.role = rpc::Role::kClient}).wait(io.waitScope);
  if (!connection.ok()) {
    std::fprintf(stderr, "%s\n", connection.status().ToString().c_str());
    std::exit(5);
  }
  auto master = (*connection)->Bootstrap<rpc::MasterForClient>();
  for (int i = 0; i < 500; ++i) master.nullRequest().send().wait(io.waitScope);  // warm
  std::vector<double> us;
  for (int i = 0; i < 5000; ++i) {
    const Instant begin = Now();
    master.nullRequest().send().wait(io.waitScope);
    us.push_back((Now() - begin).seconds() * 1e6);
  }
  std::nth_element(us.begin(), us.begin() + us.size() / 2, us.end());
  NullCalls result;
  result.p50_us = us[us.size() / 2];
  const int calls = 50'000;
  int left = calls;
  const Instant begin = Now();
  kj::Vector<kj::Promise<void>> flights;
  for (int i = 0; i < 16; ++i) flights.add(CallMany(master, &left));
  kj::joinPromises(flights.releaseAsArray()).wait(io.waitScope);
  result.per_second_at_16 = calls / (Now() - begin).seconds();
  return result;
}

}  // namespace mr::bench
