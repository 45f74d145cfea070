import { useMemo, useRef, useState } from 'preact/hooks'

/** Handlers of the elements that are watched. */
export interface Use {
  onPointerEnter: () => void
  onPointerLeave: () => void
  onFocusIn: () => void
  onFocusOut: (event: FocusEvent) => void
}

/** Tells if the pointer or the focus is in an element that has the handlers. */
export function useInUse(): readonly [boolean, Use] {
  const pointer = useRef(false)
  const focus = useRef(false)
  const [inUse, setInUse] = useState(false)
  const use = useMemo((): Use => {
    const note = () => setInUse(pointer.current || focus.current)
    return {
      onPointerEnter: () => {
        pointer.current = true
        note()
      },
      onPointerLeave: () => {
        pointer.current = false
        note()
      },
      onFocusIn: () => {
        focus.current = true
        note()
      },
      onFocusOut: ({ currentTarget, relatedTarget }) => {
        focus.current = currentTarget instanceof Node && relatedTarget instanceof Node && currentTarget.contains(relatedTarget)
        note()
      },
    }
  }, [])
  return [inUse, use]
}
