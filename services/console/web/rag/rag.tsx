import { render } from 'preact'
import { Page } from './page'

const root = document.getElementById('console')
if (root) render(<Page />, root)
