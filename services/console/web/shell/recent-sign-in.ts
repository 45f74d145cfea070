import { Problem } from '../api/problem'
import { askToSignIn } from './session'

/**
 * Runs a change. Where the server wants a recent sign-in, a dialog asks for it and says what is done
 * then; signing in there runs the change once more. Leaving the dialog stops it, as a request is stopped.
 */
export async function withRecentSignIn<T>(action: string, change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.code !== 'sign_in_again') throw problem
  }
  if (!(await askToSignIn(action))) throw new DOMException('stopped', 'AbortError')
  return change()
}
