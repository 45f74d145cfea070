import { date, relative } from '../../text/format'

/** A time as its distance from now, with the date as its tooltip. */
export function Moment({ at }: { at: string }) {
  return (
    <time dateTime={at} title={date(at)}>
      {relative(at)}
    </time>
  )
}
