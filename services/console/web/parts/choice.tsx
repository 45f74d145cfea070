/** Buttons of which one is pressed: a view or a form among a few. */
export function ChoiceButtons<T extends string>({ label, choices, value, onChoose }: { label: string; choices: readonly { value: T; label: string }[]; value: T; onChoose: (value: T) => void }) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {choices.map((choice) => (
        <button key={choice.value} type="button" aria-pressed={choice.value === value} onClick={() => choice.value !== value && onChoose(choice.value)}>
          {choice.label}
        </button>
      ))}
    </div>
  )
}
