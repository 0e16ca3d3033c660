// mrctl page: a link to the master's pages for a browser.
#include <fcntl.h>
#include <spawn.h>

#include <cstring>

#include "common/io/files.h"
#include "common/secure/private_file.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/credentials.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/last_job.h"
#include "jobs/mrctl/verbs.h"

extern char** environ;

namespace mr::ctl {
namespace {

constexpr std::string_view kHere[] = {"localhost", "127.0.0.1", "[::1]"};

std::string HostOfUrl(const std::string& url) {
  const size_t from = url.find("://") + 3;
  const size_t end = url.find('/', from);
  return url.substr(from, url.rfind(':', end) - from);
}
std::string PortOfUrl(const std::string& url) {
  const size_t end = url.find('/', url.find("://") + 3), colon = url.rfind(':', end);
  return url.substr(colon + 1, end - colon - 1);
}

bool IsHere(std::string_view host) {
  for (const std::string_view here : kHere) {
    if (host == here) return true;
  }
  return false;
}

// Opens the link in a browser. Every user sees the arguments of a process, so the browser gets a file that only this
// user can read, and which goes on to the link.
Status OpenInBrowser(const std::string& url) {
  const std::string directory = StateDirectory();
  if (directory.empty()) return InvalidArgument("--open needs HOME or XDG_STATE_HOME");
  MR_RETURN_IF_ERROR(MakeDirectories(directory));
  const std::string file = directory + "/page.html";
  MR_RETURN_IF_ERROR(secure::WritePrivateFile(
      file,
      Secret<std::string>("<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">"
                          "<meta http-equiv=\"refresh\" content=\"0;url=" +
                          url + "\"><title>Paceline</title>\n")));
  std::string program = "xdg-open", argument = file;
  char* argv[] = {program.data(), argument.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) return Status::Ok();
  return Unavailable(std::string("cannot run xdg-open: ") + std::strerror(error) + "; open the printed link yourself");
}

}  // namespace

Result<int> RunPage(const Command& command, const Settings& settings) {
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const auto page, client.Page());
  const std::string& url = page->Reveal();
  Print(RenderPage(url, settings.form));
  const std::string host = settings.master.substr(0, settings.master.rfind(':'));
  const std::string url_host = HostOfUrl(url), port = PortOfUrl(url);
  if (IsHere(url_host) && !IsHere(host) && !settings.master.starts_with("unix:")) {
    Say(settings, "the pages are on loopback of the master's machine: ssh -L " + port + ":localhost:" + port + " " +
                      host + ", then open the link");
  }
  Say(settings, url.find("/login?") == std::string::npos ? "anybody may read these pages (--insecure)"
                                                         : "the link works once, for a minute; keep it to yourself");
  if (command.open_page) MR_RETURN_IF_ERROR(OpenInBrowser(url));
  return kExitOk;
}

}  // namespace mr::ctl
