// A plugin of the schema compiler, run by the build: fails it where a method says nothing about who may call it.
//
//   capnp compile -o mr_access_check SCHEMA...
//
// Writes served_interfaces.h to the working directory: the list of all interfaces that daemons serve, for tests that
// go through all of them.
#include <capnp/schema.capnp.h>
#include <capnp/serialize.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "common/rpc/access.h"

namespace mr::rpc {
namespace {

namespace schema = capnp::schema;

// Returns the first annotation with this id, or nothing.
kj::Maybe<schema::Annotation::Reader> Find(capnp::List<schema::Annotation>::Reader annotations, uint64_t id) {
  for (const auto annotation : annotations) {
    if (annotation.getId() == id) return annotation;
  }
  return nullptr;
}

// Returns what is wrong with a method's annotation, or "".
std::string Fault(schema::Method::Reader method) {
  KJ_IF_MAYBE (annotation, Find(method.getAnnotations(), kAccessAnnotation)) {
    const auto access = annotation->getValue().getStruct().getAs<Access>();
    const Roles roles = RolesOf(access.getRoles()), others = RolesOf(access.getOthers());
    if (roles == 0) return "names no role that may call it";
    if ((others & ~roles) != 0) return "lists a role in `others` that may not call it";
    if (access.getObject() == Object::NONE && others != 0) return "has `others`, but no object that has an owner";
    return "";
  }
  return "has no $access(...), which says who may call it";
}

std::string Faults(schema::Node::Reader node) {
  std::string faults;
  const std::string name(node.getDisplayName().cStr());
  const auto interface = node.getInterface();
  const bool callback = Find(node.getAnnotations(), kCallbackAnnotation) != nullptr;
  for (const auto method : interface.getMethods()) {
    const std::string where = name + "." + method.getName().cStr() + " ";
    if (callback) {
      if (Find(method.getAnnotations(), kAccessAnnotation) != nullptr) {
        faults += where + "has $access(...), but nobody checks it: its interface is a $callback\n";
      }
    } else if (const std::string fault = Fault(method); !fault.empty()) {
      faults += where + fault + "\n";
    }
  }
  // The checks look at the methods of one interface only.
  if (interface.getSuperclasses().size() != 0) faults += name + " extends another interface, which is not supported\n";
  return faults;
}

int Main() {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = 64 << 20;  // our own schemas
  capnp::StreamFdMessageReader message(STDIN_FILENO, options);
  const auto request = message.getRoot<schema::CodeGeneratorRequest>();
  std::string faults;
  std::map<std::string, std::string> served;  // by the name in the schema: the name in C++
  for (const auto node : request.getNodes()) {
    if (!node.isInterface()) continue;
    faults += Faults(node);
    const std::string name(node.getDisplayName().cStr());
    if (Find(node.getAnnotations(), kCallbackAnnotation) == nullptr && node.getInterface().getMethods().size() != 0) {
      served[name] = "mr::rpc::" + name.substr(name.rfind(':') + 1);
    }
  }
  if (!faults.empty()) {
    std::fprintf(stderr, "%sThe annotations are explained in common/rpc/schema/access.capnp.\n", faults.c_str());
    return 1;
  }
  std::FILE* out = std::fopen("served_interfaces.h", "w");
  if (out == nullptr) {
    std::perror("cannot write served_interfaces.h");
    return 1;
  }
  std::fputs("// Made by common/rpc/access_check.cc: every interface that a daemon serves.\n#pragma once\n", out);
  std::fputs("#define MR_SERVED_INTERFACES(X)", out);
  for (const auto& [name, type] : served) std::fprintf(out, " X(%s)", type.c_str());
  std::fputs("\n", out);
  if (std::fclose(out) != 0) {
    std::perror("cannot write served_interfaces.h");
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace mr::rpc

int main() { return mr::rpc::Main(); }
