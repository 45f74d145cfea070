import { expect, test } from 'vitest'
import { withoutHidden } from './record-list'

test('hidden characters of a record are shown as escapes, which read back as they were', () => {
  const record = { note: 'left \u202e right \u200b \u{e0041} ü', deep: ['\ufeff'] }
  const shown = withoutHidden(JSON.stringify(record))
  expect(shown).toContain('\\u202e')
  expect(shown).not.toMatch(/[\u202e\u200b\ufeff]/)
  expect(JSON.parse(shown)).toEqual(record)
})
