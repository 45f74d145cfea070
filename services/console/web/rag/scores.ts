import type { DebugDetails, Source } from '../api/rag'

/** A score with its rank in the list of one search. */
export interface Score {
  score: number
  rank: number
}

/** Scores of a passage by the ways in which it was found. */
export interface Scores {
  vector: Score | null
  keyword: Score | null
  rerank: Score | null
  /** Is false if it did not fit into the prompt. */
  used: boolean
}

/** Finds the scores of a passage among the details of an answer, by the id of its row; null without details or an id. */
export function scoresOf(source: Source, debug: DebugDetails | null): Scores | null {
  if (!debug || source.id === undefined) return null
  const of = (list: readonly { id?: string; rank: number; score: number }[] | undefined): Score | null => {
    const found = list?.find(({ id }) => id === source.id)
    return found ? { score: found.score, rank: found.rank } : null
  }
  const { vector, keyword, reranked } = debug.candidates
  return { vector: of(vector), keyword: of(keyword), rerank: of(reranked), used: of(debug.dropped_passages) === null }
}
