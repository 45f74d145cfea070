/** Shows changes at most once for each painting of the page, however many there are. */
export function painter(show: () => void): { soon: () => void; now: () => void } {
  let due: ReturnType<typeof setTimeout> | null = null
  const now = () => {
    if (due !== null) clearTimeout(due)
    due = null
    show()
  }
  return {
    // Hidden pages paint nothing, so that a timer is taken and not an animation frame.
    soon: () => {
      due ??= setTimeout(now, 32)
    },
    now,
  }
}
