// Names, options and help texts of `cluster`, `token` and `page`. Declared in option_tree.h.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "jobs/mrctl/option_tree.h"
#include "jobs/mrctl/options.h"

namespace mr::ctl {
namespace {

void AddData(CLI::App* app, CredentialOptions* o) {
  app->add_option("--data", o->data, "Data directory of the master (mrmaster --data), on its machine")
      ->required()
      ->type_name("PATH");
}

void AddAddress(CLI::App* app, CredentialOptions* o, const std::string& otherwise) {
  app->add_option("--address", o->address, "Address of the master in the join file (default: " + otherwise + ")")
      ->type_name("HOST:PORT");
}

void AddCluster(CLI::App* root, Command* c) {
  CredentialOptions* o = &c->credentials;
  CLI::App* cluster = root->add_subcommand("cluster", "Make or rotate the credentials of a cluster: init, rotate")
                          ->fallthrough()
                          ->require_subcommand(1);
  CLI::App* init = AddSub(cluster, c, "init",
                          "Make a cluster's certificates, an administrator's token and a join file, and print the next "
                          "commands",
                          "");
  AddData(init, o);
  AddAddress(init, o, "the name of this machine, port 7070");
  init->add_option("--subject", o->subject, "Name of the administrator (default: your user name)")->type_name("NAME");
  init->add_option("--life", o->life, "Life of the administrator's token (default 30d)")->type_name("TIME");
  init->add_option("--out", o->out,
                   "Token file to write (default: $XDG_STATE_HOME/paceline/tokens/CLUSTER, where mrctl finds it)")
      ->type_name("PATH");
  init->add_option("--join", o->join, "Join file to write, for one worker (default: join in the data directory)")
      ->type_name("PATH");
  init->footer(
      "Nothing is overwritten: a second run for the same directory is refused.\n"
      "Keys and tokens are in files that only you can read, and are never printed.");
  AddExample(init, "mrctl cluster init --data cluster-data --address lab-1:7070");
  CLI::App* rotate = AddSub(cluster, c, "rotate",
                            "Replace the cluster's authority and the key of its tokens by new ones, while it runs", "");
  AddData(rotate, o);
  rotate->add_flag("--finish", o->finish, "End the trust in the old ones, when nobody needs them any more");
  rotate->add_flag("-f,--force", c->force, "With --finish: also where workers and tokens stop working then");
  rotate->footer(
      "The master and the workers that run take new certificates within seconds; jobs go on. The old authority and\n"
      "tokens stay valid until --finish, which lists what would stop working and then changes nothing. Before it, "
      "make\n"
      "new tokens with mrctl token create, hand them out, and revoke the old ones.");
  AddExample(rotate, "mrctl cluster rotate --data cluster-data");
}

void AddToken(CLI::App* root, Command* c) {
  CredentialOptions* o = &c->credentials;
  CLI::App* token = root->add_subcommand("token", "Make, list or revoke tokens: create, list, revoke")
                        ->fallthrough()
                        ->require_subcommand(1);
  CLI::App* create = AddSub(token, c, "create", "Make a token file for a person, or a join file for a worker", "");
  AddData(create, o);
  create->add_option("--subject", o->subject, "Name of the person or service that the token is for")->type_name("NAME");
  create->add_option("--roles", o->roles, "Roles, separated by commas")->type_name("viewer|submitter|operator|admin");
  create->add_option("--life", o->life, "Life of the token, such as 7d, at most 366d (default 12h; join tokens 15m)")
      ->type_name("TIME");
  create->add_option("--out", o->out, "Token file to write (default: NAME.token)")->type_name("PATH");
  create->add_option("--join", o->join, "Make this join file instead, which adds one worker")->type_name("PATH");
  create->add_option("--worker", o->worker, "With --join: the only name that the worker may have")->type_name("NAME");
  AddAddress(create, o, "that of mrctl cluster init, or the name of this machine, port 7070");
  create->footer(
      "viewer sees jobs and workers; submitter runs jobs and has own files; operator drains workers and kills jobs;\n"
      "admin may do all of it but submit, and manages tokens. Give several roles as submitter,operator.\n"
      "Hand the file over so that nobody else reads it. Its owner keeps it with mode 0600 where MR_TOKEN_FILE says.");
  AddExample(create, "mrctl token create --data cluster-data --subject anna --roles submitter,viewer");
  CLI::App* list = AddSub(token, c, "list", "List the tokens that were made, and workers that are denied", "");
  AddData(list, o);
  AddExample(list, "mrctl token list --data cluster-data");
  CLI::App* revoke =
      AddSub(token, c, "revoke", "Revoke tokens, or deny a worker's certificate; masters notice within a second", "");
  AddData(revoke, o);
  revoke
      ->add_option("what", c->args,
                   "Id of a token, a name for all tokens of this person, or worker:NAME for a worker's certificate")
      ->required();
  AddExample(revoke, "mrctl token revoke --data cluster-data anna");
}

void AddPage(CLI::App* root, Command* c) {
  CLI::App* page =
      root->add_subcommand("page", "Print a link to the master's pages that lets a browser in")->fallthrough();
  page->add_flag("--open", c->open_page, "Open it in the browser of this desktop, too (xdg-open)");
  page->footer(
      "The link works once, for a minute, and gives the browser a session of at most 12 hours with your roles. It "
      "ends\n"
      "with your token, and when the master starts again. Do not pass the link on.");
  AddExample(page, "mrctl page");
}

}  // namespace

void AddPeopleVerbs(CLI::App* root, Command* c) {
  AddCluster(root, c);
  AddToken(root, c);
  AddPage(root, c);
}

}  // namespace mr::ctl
