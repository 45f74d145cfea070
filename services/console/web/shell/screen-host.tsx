import { Component, type ComponentChildren, type ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Banner, ProblemBanner } from '../parts/banner'
import { Button } from '../parts/button'
import { Loading } from '../parts/loading'
import { shell } from '../text/shell'
import type { Screen } from './screens'

/** Addresses of the screens' style sheets, written by the build. */
declare const STYLES: Record<string, string>

type State = { module: ComponentType } | { failed: true } | { loading: true }

/** Loads a screen with its style sheet, and shows it. */
export function ScreenHost({ screen }: { screen: Screen }) {
  const [state, setState] = useState<State>({ loading: true })
  useEffect(() => {
    let current = true
    setState({ loading: true })
    Promise.all([screen.load(), loadStyle(screen.name)]).then(
      ([{ default: module }]) => current && setState({ module }),
      () => current && setState({ failed: true }),
    )
    return () => {
      current = false
    }
  }, [screen.name])
  if ('loading' in state) return <Loading />
  if ('failed' in state) return <NewVersion />
  const Shown = state.module
  return (
    <Boundary key={screen.name}>
      <Shown />
    </Boundary>
  )
}

// A chunk that is no longer there belongs to a version of the console that the server has replaced.
const NewVersion = () => (
  <div class="screen-message">
    <Banner kind="warn" actions={<Button onClick={() => location.reload()}>{shell.reload}</Button>}>
      {shell.newVersion}
    </Banner>
  </div>
)

const loaded = new Map<string, Promise<void>>()

function loadStyle(name: string): Promise<void> {
  const address = STYLES[name]
  if (!address) return Promise.resolve()
  const known = loaded.get(name)
  if (known) return known
  const link = document.createElement('link')
  link.rel = 'stylesheet'
  link.href = address
  const done = new Promise<void>((resolve, reject) => {
    link.addEventListener('load', () => resolve())
    link.addEventListener('error', () => {
      loaded.delete(name)
      link.remove()
      reject(new Error(`cannot load ${address}`))
    })
  })
  loaded.set(name, done)
  document.head.append(link)
  return done
}

/** Keeps a failure of one screen from taking the frame with it. */
export class Boundary extends Component<{ children: ComponentChildren }, { problem: unknown }> {
  override state = { problem: null as unknown }

  static override getDerivedStateFromError(problem: unknown) {
    return { problem }
  }

  override componentDidCatch(problem: unknown) {
    console.error(problem)
  }

  override render() {
    if (this.state.problem === null) return this.props.children
    return (
      <div class="screen-message">
        <ProblemBanner title={shell.failed} problem={this.state.problem} onRetry={() => this.setState({ problem: null })} />
      </div>
    )
  }
}
