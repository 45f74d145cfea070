import { render } from 'preact'
import { App } from './app'
import { startRouter } from './router'
import { watchSession } from './session'

startRouter()
watchSession()
const root = document.getElementById('console')
if (root) render(<App />, root)
