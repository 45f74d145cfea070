import { expect, test } from 'vitest'
import type { DebugDetails } from '../api/rag'
import { scoresOf } from './scores'

const source = { id: 'wool', content: 'Wool.', score: 0.03 }
const debug = {
  milliseconds: {},
  candidates: {
    vector: [{ table: 't', id: 'dye', rank: 1, score: 0.9 }, { table: 't', id: 'wool', rank: 2, score: 0.8 }],
    keyword: [{ table: 't', id: 'wool', rank: 1, score: 4.2 }],
    fused: [{ id: 'wool', rank: 1, score: 0.03 }],
  },
  dropped_passages: [{ id: 'dye', rank: 1, score: 0.01 }],
} as DebugDetails

test('the scores of a passage are those of its row in each search', () => {
  expect(scoresOf(source, debug)).toEqual({ vector: { score: 0.8, rank: 2 }, keyword: { score: 4.2, rank: 1 }, rerank: null, used: true })
  expect(scoresOf({ ...source, id: 'dye' }, debug)).toMatchObject({ keyword: null, used: false })
})

test('without details, or without ids, nothing is said', () => {
  expect(scoresOf(source, null)).toBeNull()
  expect(scoresOf({ content: 'Wool.', score: 1 }, debug)).toBeNull()
})
