import { render } from 'preact'
import { startRouter } from './router'

startRouter()
const root = document.getElementById('console')
if (root) render(<main><h1>Ziggurat Console</h1></main>, root)
