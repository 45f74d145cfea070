//! The scripts of the four shells.

use crate::tree::Shell;

/// Returns the script for a shell.
pub(crate) fn script(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => BASH,
        Shell::Fish => FISH,
        Shell::Power => POWERSHELL,
        Shell::Zsh => ZSH,
    }
}

const BASH: &str = r#"# Completion of ziggurat for bash.
_ziggurat() {
    local at line last=-1 prefix="" words=()
    # Bash breaks --flag=value into three words; this program wants one.
    for ((at = 1; at <= COMP_CWORD; at++)); do
        if ((last >= 0)) && [[ ${COMP_WORDS[at]} == "=" || ${COMP_WORDS[at - 1]} == "=" ]]; then
            words[last]+="${COMP_WORDS[at]}"
        else
            words[++last]="${COMP_WORDS[at]}"
        fi
    done
    [[ ${words[last]} == --*=* ]] && prefix="${words[last]%%=*}="
    COMPREPLY=()
    while IFS= read -r line; do
        line="${line%%$'\t'*}"
        [[ -n $line ]] && COMPREPLY+=("${line#"$prefix"}")
    done < <(ziggurat __complete -- "${words[@]}" 2>/dev/null)
    [[ ${#COMPREPLY[@]} -eq 0 && ${words[last]} != -* ]] && compopt -o default 2>/dev/null
    return 0
}
complete -F _ziggurat ziggurat
"#;

const ZSH: &str = r#"#compdef ziggurat
# Completion of ziggurat for zsh.
_ziggurat() {
    local -a offers
    local line name note
    while IFS= read -r line; do
        [[ -z $line ]] && continue
        name="${line%%$'\t'*}"
        note="${line#*$'\t'}"
        [[ $note == $line ]] && note=""
        offers+=("${name//:/\\:}${note:+:$note}")
    done < <(ziggurat __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#offers} )); then
        _describe 'ziggurat' offers
    else
        _files
    fi
}
if [[ $funcstack[1] == _ziggurat ]]; then
    _ziggurat "$@"
elif (( $+functions[compdef] )); then
    compdef _ziggurat ziggurat
fi
"#;

const FISH: &str = r"# Completion of ziggurat for fish.
function __ziggurat_complete
    set -l words (commandline -opc) (commandline -ct)
    ziggurat __complete -- $words[2..-1] 2>/dev/null
end
complete -c ziggurat -f -a '(__ziggurat_complete)'
";

const POWERSHELL: &str = r#"# Completion of ziggurat for PowerShell.
Register-ArgumentCompleter -Native -CommandName ziggurat -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') { $words += '""' }
    $words = $words | ForEach-Object { $_.Trim('"') }
    & ziggurat __complete -- @words 2>$null | ForEach-Object {
        $name, $note = $_ -split "`t", 2
        if (-not $note) { $note = $name }
        [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $note)
    }
}
"#;
