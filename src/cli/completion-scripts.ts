import { LoopkeeperError } from "../run/errors.ts";

/** What a shell has to source. Each asks the program itself, so that a script that was once installed does not grow old. */

const BASH = `# loopkeeper completion for bash: source <(loopkeeper completion bash)
_loopkeeper() {
  local IFS=$'\\n' cur="\${COMP_WORDS[COMP_CWORD]}" cut="" i
  local -a typed=() all=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  # bash ends a word at @ and at =: what belongs together is put together again, and taken off the answers.
  for ((i = 0; i < \${#all[@]}; i++)); do
    if [[ "\${all[i]}" == "@" && $((i + 1)) -lt \${#all[@]} ]]; then
      i=$((i + 1)); typed+=("@\${all[i]}"); cut="@"
    else
      typed+=("\${all[i]}"); cut=""
    fi
  done
  COMPREPLY=($("\${COMP_WORDS[0]}" complete -- "\${typed[@]}" 2>/dev/null | cut -f1))
  if [[ -n "$cut" ]]; then COMPREPLY=("\${COMPREPLY[@]#@}"); fi
}
complete -o default -F _loopkeeper loopkeeper
`;

const ZSH = `#compdef loopkeeper
# loopkeeper completion for zsh: source <(loopkeeper completion zsh)
_loopkeeper() {
  local -a found
  local line
  for line in "\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n "$line" ]] && found+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  if (( \${#found} )); then _describe loopkeeper found; else _files; fi
}
compdef _loopkeeper loopkeeper
`;

const FISH = `# loopkeeper completion for fish: loopkeeper completion fish | source
function __loopkeeper_complete
  set -l typed (commandline -opc) (commandline -ct)
  loopkeeper complete -- $typed[2..-1] 2>/dev/null
end
complete -c loopkeeper -f -a "(__loopkeeper_complete)"
complete -c loopkeeper -l repo -r -F
complete -c loopkeeper -l path -r -F
`;

const SCRIPTS: Readonly<Record<string, string>> = { bash: BASH, zsh: ZSH, fish: FISH };
export const SHELLS: readonly string[] = Object.keys(SCRIPTS);

/** The script of a shell. `bad_input` names the shells there are. */
export function completionScript(shell: string | undefined): string {
  const script = SCRIPTS[shell ?? ""];
  if (script !== undefined) return script.trimEnd();
  throw new LoopkeeperError(
    "bad_input",
    `completion takes a shell: ${SHELLS.join(", ")}. For bash: echo 'source <(loopkeeper completion bash)' >> ~/.bashrc`,
  );
}
