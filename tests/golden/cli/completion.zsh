#compdef fleetctl
# zsh completion of fleetctl; made by: fleetctl completion zsh
_fleetctl_at() {
  local prefix="$1"
  case "$prefix" in
    "") next="access acp agents apply approvals audit ceilings completion conversations defaults doctor gc help host ledger logs mcp questions secret status teams-gateway turn up usage webview-gateway webview-login"; options="--json --as --help --version" ;;
    "access") next="explain"; options="--json --as --help" ;;
    "access explain") next=""; options="--json --as --help" ;;
    "acp") next=""; options="--json --as --help" ;;
    "agents") next="add key list model remove restart set show start stop"; options="--json --as --help" ;;
    "agents add") next=""; options="--channel --user-email --owner-aad --owner-email --runtime --provider --model --login --workspace --ask --ask-time --worktrees --setup --ceiling --sandbox --sandbox-network --persona --memory-max --memory-high --tasks-max --cpu-weight --io-weight --dry-run --json --as --help" ;;
    "agents key") next="enroll list revoke"; options="--json --as --help" ;;
    "agents key enroll") next=""; options="--first --json --as --help" ;;
    "agents key list") next=""; options="--json --as --help" ;;
    "agents key revoke") next=""; options="--json --as --help" ;;
    "agents list") next=""; options="--json --as --help" ;;
    "agents model") next="set show"; options="--json --as --help" ;;
    "agents model set") next=""; options="--provider --model --base-url --key --effort --fallback --no-key --no-check --json --as --help" ;;
    "agents model show") next=""; options="--json --as --help" ;;
    "agents remove") next=""; options="--yes --home --secrets --json --as --help" ;;
    "agents restart") next=""; options="--json --as --help" ;;
    "agents set") next=""; options="--channel --user-email --owner-aad --owner-email --runtime --provider --model --workspace --ask --ask-time --worktrees --setup --ceiling --sandbox --sandbox-network --persona --memory-max --memory-high --tasks-max --cpu-weight --io-weight --run-on --admin --yes --json --as --help" ;;
    "agents show") next=""; options="--json --as --help" ;;
    "agents start") next=""; options="--json --as --help" ;;
    "agents stop") next=""; options="--json --as --help" ;;
    "apply") next="self"; options="--dry-run --now --steps --waiting --json --as --help" ;;
    "approvals") next="approve deny list show"; options="--json --as --help" ;;
    "approvals approve") next=""; options="--reason --json --as --help" ;;
    "approvals deny") next=""; options="--reason --json --as --help" ;;
    "approvals list") next=""; options="--all --json --as --help" ;;
    "approvals show") next=""; options="--json --as --help" ;;
    "audit") next="list"; options="--json --as --help" ;;
    "audit list") next=""; options="--caller --verb --denied --since --limit --json --as --help" ;;
    "ceilings") next="allow host list"; options="--json --as --help" ;;
    "ceilings allow") next=""; options="--json --as --help" ;;
    "ceilings host") next="allow set sum"; options="--json --as --help" ;;
    "ceilings host allow") next=""; options="--json --as --help" ;;
    "ceilings host set") next=""; options="--json --as --help" ;;
    "ceilings host sum") next=""; options="--json --as --help" ;;
    "ceilings list") next=""; options="--json --as --help" ;;
    "completion") next="bash fish zsh"; options="--json --as --help" ;;
    "conversations") next="list remove"; options="--json --as --help" ;;
    "conversations list") next=""; options="--json --as --help" ;;
    "conversations remove") next=""; options="--json --as --help" ;;
    "defaults") next="add list remove"; options="--json --as --help" ;;
    "defaults add") next="tools"; options="--json --as --help" ;;
    "defaults add tools") next=""; options="--json --as --help" ;;
    "defaults list") next="tools"; options="--json --as --help" ;;
    "defaults list tools") next=""; options="--json --as --help" ;;
    "defaults remove") next="tools"; options="--json --as --help" ;;
    "defaults remove tools") next=""; options="--json --as --help" ;;
    "doctor") next=""; options="--json --as --help" ;;
    "gc") next=""; options="--events --logs --trees --dry-run --json --as --help" ;;
    "help") next=""; options="--man --json --as --help" ;;
    "host") next="key list set unset"; options="--json --as --help" ;;
    "host key") next="enroll list revoke"; options="--json --as --help" ;;
    "host key enroll") next=""; options="--json --as --help" ;;
    "host key list") next=""; options="--json --as --help" ;;
    "host key revoke") next=""; options="--json --as --help" ;;
    "host list") next=""; options="--json --as --help" ;;
    "host set") next="webview_gateway teams_gateway dial_require_key"; options="--json --as --help" ;;
    "host unset") next="webview_gateway teams_gateway dial_require_key"; options="--json --as --help" ;;
    "ledger") next="log revert"; options="--json --as --help" ;;
    "ledger log") next=""; options="--agent --limit --json --as --help" ;;
    "ledger revert") next=""; options="--json --as --help" ;;
    "logs") next=""; options="--request --lines --follow --json --as --help" ;;
    "mcp") next="add call catalog doctor read remove wired"; options="--json --as --help" ;;
    "mcp add") next=""; options="--force --dry-run --json --as --help" ;;
    "mcp call") next=""; options="--args --out --timeout --answer --json --as --help" ;;
    "mcp catalog") next="add browse import list remove review rollback upgrade"; options="--json --as --help" ;;
    "mcp catalog add") next=""; options="--npm --uvx --url --into --program --engine --arg --env --header --set-env --grant --risk --shared --summary --json --as --help" ;;
    "mcp catalog browse") next=""; options="--json --as --help" ;;
    "mcp catalog import") next=""; options="--name --into --program --env --grant --risk --json --as --help" ;;
    "mcp catalog list") next=""; options="--json --as --help" ;;
    "mcp catalog remove") next=""; options="--json --as --help" ;;
    "mcp catalog review") next=""; options="--accept --from --risk --json --as --help" ;;
    "mcp catalog rollback") next=""; options="--json --as --help" ;;
    "mcp catalog upgrade") next=""; options="--to --grant --into --json --as --help" ;;
    "mcp doctor") next=""; options="--json --as --help" ;;
    "mcp read") next=""; options="--args --out --timeout --answer --json --as --help" ;;
    "mcp remove") next=""; options="--dry-run --json --as --help" ;;
    "mcp wired") next=""; options="--json --as --help" ;;
    "questions") next="answer decline list show"; options="--json --as --help" ;;
    "questions answer") next=""; options="--set --accept --json --as --help" ;;
    "questions decline") next=""; options="--json --as --help" ;;
    "questions list") next=""; options="--all --json --as --help" ;;
    "questions show") next=""; options="--json --as --help" ;;
    "secret") next="get list recover recovery rewrap rotate set unset"; options="--json --as --help" ;;
    "secret get") next=""; options="--agent --json --as --help" ;;
    "secret list") next=""; options="--agent --json --as --help" ;;
    "secret recover") next=""; options="--key --copy --json --as --help" ;;
    "secret recovery") next="add copy"; options="--json --as --help" ;;
    "secret recovery add") next=""; options="--json --as --help" ;;
    "secret recovery copy") next=""; options="--json --as --help" ;;
    "secret rewrap") next=""; options="--json --as --help" ;;
    "secret rotate") next="hmac assertion host-op recipient"; options="--revoke --json --as --help" ;;
    "secret set") next=""; options="--value --agent --json --as --help" ;;
    "secret unset") next=""; options="--agent --json --as --help" ;;
    "status") next=""; options="--json --as --help" ;;
    "teams-gateway") next="doctor explain install remove status"; options="--json --as --help" ;;
    "teams-gateway doctor") next=""; options="--public-url --json --as --help" ;;
    "teams-gateway explain") next=""; options="--json --as --help" ;;
    "teams-gateway install") next=""; options="--cloud --listen --register-listen --file-hosts --dry-run --json --as --help" ;;
    "teams-gateway remove") next=""; options="--delete-state --despite-waiting --yes --dry-run --json --as --help" ;;
    "teams-gateway status") next=""; options="--json --as --help" ;;
    "turn") next=""; options="--conversation --file --steer --json --as --help" ;;
    "up") next=""; options="--root --listen --port-base --workdir --turn --agent --model-from --model --teamchat --json --as --help" ;;
    "usage") next=""; options="--by --since --until --json --as --help" ;;
    "webview-gateway") next="install remove status"; options="--json --as --help" ;;
    "webview-gateway install") next=""; options="--trust --hosts --dry-run --json --as --help" ;;
    "webview-gateway remove") next=""; options="--delete-state --despite-waiting --yes --dry-run --json --as --help" ;;
    "webview-gateway status") next=""; options="--json --as --help" ;;
    "webview-login") next="doctor front install pins remove sessions status users"; options="--json --as --help" ;;
    "webview-login doctor") next=""; options="--public-url --json --as --help" ;;
    "webview-login front") next="nginx caddy"; options="--json --as --help" ;;
    "webview-login install") next=""; options="--driver --listen --url --issuer --client-id --front --dry-run --json --as --help" ;;
    "webview-login pins") next="clear list"; options="--json --as --help" ;;
    "webview-login pins clear") next=""; options="--json --as --help" ;;
    "webview-login pins list") next=""; options="--json --as --help" ;;
    "webview-login remove") next=""; options="--delete-state --yes --dry-run --json --as --help" ;;
    "webview-login sessions") next="end list"; options="--json --as --help" ;;
    "webview-login sessions end") next=""; options="--json --as --help" ;;
    "webview-login sessions list") next=""; options="--json --as --help" ;;
    "webview-login status") next=""; options="--json --as --help" ;;
    "webview-login users") next="list remove set"; options="--json --as --help" ;;
    "webview-login users list") next=""; options="--json --as --help" ;;
    "webview-login users remove") next=""; options="--json --as --help" ;;
    "webview-login users set") next=""; options="--password --generate --json --as --help" ;;
    *) return 1 ;;
  esac
}
_fleetctl() {
  local path="" next="" options="" words_here="" word="" previous="${words[CURRENT-1]}"
  _fleetctl_at ""
  for word in "${(@)words[2,CURRENT-1]}"; do
    [[ $word == -* ]] && continue
    _fleetctl_at "${path:+$path }$word" && path="${path:+$path }$word"
  done
  if [[ "${words[CURRENT]}" == -* ]]; then words_here="$options"; else words_here="$next"; fi
  case "$previous" in
    --channel) words_here="webview messenger teamchat workchat" ;;
    --provider) words_here="anthropic openai openai-compatible demo" ;;
    --effort) words_here="low medium high" ;;
    --home) words_here="keep archive" ;;
    --secrets) words_here="remove keep" ;;
    --admin) words_here="yes no" ;;
    --engine) words_here="deno node" ;;
    --by) words_here="agent model day" ;;
    --trust) words_here="assertion header" ;;
    --driver) words_here="basic oidc" ;;
    --front) words_here="nginx caddy" ;;
  esac
  compadd -- ${=words_here}
}
if [ "$funcstack[1]" = "_fleetctl" ]; then _fleetctl "$@"; else compdef _fleetctl fleetctl; fi
