// Runs before the first paint, as a blocking script, so that a chosen theme never flashes.
import { applyTheme, storedTheme } from './themes'

applyTheme(storedTheme())
