/** Reads JSON without rounding its numbers. */

/** A number that JavaScript would round: the digits as they stand in the text. */
export class ExactNumber {
  constructor(readonly digits: string) {}
}

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown

/** Keeps the digits of numbers that are not what they were after reading. Old browsers do not pass the source. */
const exact: Reviver = (_, value, context) => {
  const source = context?.source
  return typeof value === 'number' && source !== undefined && String(value) !== source
    ? new ExactNumber(source)
    : value
}

/** The value of a JSON text, or undefined. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text, exact as (key: string, value: unknown) => unknown) as unknown
  } catch {
    return undefined
  }
}
