/** Sums of selected cells, exact to the last digit. */
import { cellText, type Cell } from './cell'

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/

/** Adds the cells that are decimal numbers. Returns their number and the sum as text. */
export function sumOf(cells: Iterable<Cell>): { numbers: number; sum: string } {
  let numbers = 0
  let scale = 0
  let total = 0n
  for (const cell of cells) {
    const match = typeof cell === 'number' || typeof cell === 'string' ? DECIMAL.exec(cellText(cell)) : null
    if (!match) continue
    const [, sign, whole, fraction = ''] = match
    if (fraction.length > scale) {
      total *= 10n ** BigInt(fraction.length - scale)
      scale = fraction.length
    }
    const value = BigInt(`${whole}${fraction.padEnd(scale, '0')}`)
    total += sign ? -value : value
    numbers += 1
  }
  return { numbers, sum: decimal(total, scale) }
}

function decimal(value: bigint, scale: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, '0')
  const whole = digits.slice(0, digits.length - scale)
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '')
  return `${value < 0n ? '-' : ''}${whole}${fraction ? `.${fraction}` : ''}`
}
